"""Recording, reading, replaying, importing and reporting identification sessions."""

from sessions.catalogue import find_session, list_sessions, new_session_path, session_files, session_folder
from sessions.errors import SessionError
from sessions.reader import Session, open_session
from sessions.recorder import Recorder, RecorderConfig, RecorderHealth
from sessions.take import Take

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
