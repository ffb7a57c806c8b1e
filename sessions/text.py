"""Sizes and times of sessions in words."""

from datetime import UTC, datetime

_DAY_NS = 86_400_000_000_000


def size_text(size: int) -> str:
    """Bytes in the unit that suits them: ``16.1 MB``."""
    for unit, least in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size} B"


def duration_text(seconds: float) -> str:
    """Minutes and seconds: ``4:19.1``."""
    minutes = int(seconds // 60)
    return f"{minutes}:{seconds - 60 * minutes:04.1f}"


def date_text(t_ns: int) -> str:
    """A host time as date and minute in UTC; empty where the recording did not know its date."""
    return datetime.fromtimestamp(t_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M UTC") if t_ns >= _DAY_NS else ""
