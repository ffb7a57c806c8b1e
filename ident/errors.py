"""Errors meant for the person at the keyboard: shown as a sentence, without a traceback."""


class IdentError(Exception):
    """What happened, with its number, and what to do next."""

    explains_itself = True
    """The command line prints errors with this mark as they are; all others are defects of the program."""
