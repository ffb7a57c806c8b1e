"""The folder in which a lab's sessions gather, and what is in it."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sessions.errors import SessionError
from sessions.parts import base_path
from sessions.reader import Session, open_session

VARIABLE = "IDENT_SESSIONS"
"""Environment variable that names another folder than the default."""
_DEFAULT = "~/ident/sessions"


@dataclass(frozen=True, slots=True)
class Listed:
    """One session of a folder; of a file that cannot be read, only the path, the size and the reason."""

    path: Path
    size: int
    """Bytes, of all parts."""
    name: str = ""
    """The identified object."""
    t0_ns: int = 0
    duration_s: float = 0.0
    takes: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    closed: bool = False
    lost_bytes: int = 0
    error: str = ""


def session_folder(folder: str | Path | None = None) -> Path:
    """The folder given, else that of ``$IDENT_SESSIONS``, else ``~/ident/sessions``."""
    return Path(folder or os.environ.get(VARIABLE) or _DEFAULT).expanduser()


def new_session_path(name: str, started: datetime, folder: str | Path | None = None) -> Path:
    """A path that is not taken, such as ``2026-05-06_14-30_door.mcap``."""
    plain = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "session"
    stem = f"{started:%Y-%m-%d_%H-%M}_{plain}"
    where = session_folder(folder)
    number, path = 2, where / f"{stem}.mcap"
    while path.exists():
        path, number = where / f"{stem}-{number}.mcap", number + 1
    return path


def session_files(places: Iterable[str | Path]) -> Iterator[Path]:
    """First parts of all sessions under folders, and files as given; in the order of their names."""
    for place in map(Path, places):
        if not place.is_dir():
            yield place
            continue
        found = {base_path(path) for path in place.rglob("*.mcap")}
        yield from sorted(
            path if path.exists() else next(iter(path.parent.glob(f"{path.stem}.part*"))) for path in found
        )


def find_session(name: str | Path, folder: str | Path | None = None) -> Path:
    """A session by path, or by name within the sessions folder; raises ``SessionError`` where there is none."""
    path = Path(name)
    places = [path, path.with_name(path.name + ".mcap")]
    if not path.is_absolute():
        places += [session_folder(folder) / path, session_folder(folder) / f"{path}.mcap"]
    for place in places:
        if place.is_file():
            return place
    raise SessionError(
        f"There is no session {str(name)!r}, neither here nor in {session_folder(folder)}. `ident sessions` lists all."
    )


def list_sessions(folder: str | Path | None = None) -> tuple[Listed, ...]:
    """All sessions of a folder; a file that cannot be read is listed with the reason."""
    where = session_folder(folder)
    return tuple(_listed(path) for path in session_files([where])) if where.is_dir() else ()


def _listed(path: Path) -> Listed:
    try:
        return _described(open_session(path))
    except SessionError as error:
        return Listed(path, path.stat().st_size if path.exists() else 0, error=str(error))


def _described(session: Session) -> Listed:
    takes = tuple(take.name for take in session.takes())
    return Listed(
        path=session.path,
        size=session.size,
        name=str(session.metadata.get("object", "")),
        t0_ns=session.t0_ns,
        duration_s=(session.t1_ns - session.t0_ns) / 1e9,
        takes=takes,
        documents=tuple(session.documents()),
        closed=session.closed,
        lost_bytes=sum(damage.length for damage in session.damage),
    )
