"""The files of one session: ``door.mcap``, then ``door.part2.mcap``, ``door.part3.mcap``…"""

import re
from pathlib import Path

_LATER_PART = re.compile(r"\.part(\d+)$")


def part_path(base: Path, part: int) -> Path:
    """Path of a part; the first is ``base`` itself."""
    return base if part == 1 else base.with_name(f"{base.stem}.part{part}{base.suffix}")


def base_path(path: Path) -> Path:
    """The first part's path, given that of any part."""
    match = _LATER_PART.search(path.stem)
    return path.with_name(path.stem[: match.start()] + path.suffix) if match else path


def later_parts(base: Path) -> dict[int, Path]:
    """Parts after the first that exist, by number."""
    found = {}
    for path in sorted(base.parent.glob(f"{_escape(base.stem)}.part*{base.suffix}")):
        match = _LATER_PART.search(path.stem)
        if match and base_path(path) == base:
            found[int(match[1])] = path
    return dict(sorted(found.items()))


def remove_later_parts(base: Path) -> None:
    """Delete the later parts of a session that is being replaced."""
    for path in later_parts(base).values():
        path.unlink()


def next_part(base: Path) -> tuple[int, str]:
    """Number for a part that continues an existing session, and the session's identifier."""
    from sessions.reader import open_session

    session = open_session(base)
    return max([1, *later_parts(base)]) + 1, session.id


def _escape(stem: str) -> str:
    return re.sub(r"([\[\]*?])", r"[\1]", stem)
