"""The errors that device code raises for its user."""


class DeviceError(Exception):
    """Something about a device that the operator can act on: a whole sentence with the next step."""

    explains_itself = True
    """The command line prints such errors without a traceback."""


class Stale(DeviceError):
    """The latest sample is older than the caller allows, or there is none."""
