"""Recording, reading, replaying, importing and reporting identification sessions."""

from sessions.errors import SessionError
from sessions.reader import Session, open_session
from sessions.recorder import Recorder, RecorderConfig, RecorderHealth
from sessions.take import Take

__all__ = ["Recorder", "RecorderConfig", "RecorderHealth", "Session", "SessionError", "Take", "open_session"]
