"""What this package tells a person when something is wrong with a session."""


class SessionError(Exception):
    """A session cannot be written, read or imported; the message says why and what to do next."""

    explains_itself = True
