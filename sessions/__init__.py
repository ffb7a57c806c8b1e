"""Recording, reading, replaying, importing and reporting identification sessions."""

from importlib import import_module
from typing import TYPE_CHECKING

from sessions.catalogue import find_session, list_sessions, new_session_path, session_files, session_folder
from sessions.errors import SessionError
from sessions.reader import Session, open_session
from sessions.take import Take

if TYPE_CHECKING:
    from sessions.recorder import Recorder, RecorderConfig, RecorderHealth
else:

    def __getattr__(name: str) -> object:
        """Who only reads does not import the recorder."""
        if name not in ("Recorder", "RecorderConfig", "RecorderHealth"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("sessions.recorder"), name)


__all__ = [
    "Recorder",
    "RecorderConfig",
    "RecorderHealth",
    "Session",
    "SessionError",
    "Take",
    "find_session",
    "list_sessions",
    "new_session_path",
    "open_session",
    "session_files",
    "session_folder",
]
