"""Reading sessions back: by time, by take, as streams; also what is left of a damaged one."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from devices.buffer import PoseWindow, WrenchWindow
from sessions import format as fmt
from sessions import parts
from sessions.datagrams import Datagram, Datagrams, merged
from sessions.errors import SessionError
from sessions.info import SessionInfo, summarise
from sessions.runs import Run, runs
from sessions.scan import ChunkRef, Damage, Scan, scan, unpack_all
from sessions.tables import Chunk, pose_window, wrench_window
from sessions.take import Take


@dataclass(frozen=True, slots=True)
class Entry:
    """One JSON message."""

    t_ns: int
    content: dict[str, Any]


class Session:
    """A recorded session. Nothing is held open, and nothing is ever written.

    All times are host nanoseconds; windows contain ``t0_ns <= t <= t1_ns``, and None means unbounded. Reading
    goes chunk by chunk, so memory depends on what is asked for and not on the session's length.
    """

    def __init__(self, scans: list[Scan], missing_parts: Iterable[int] = ()) -> None:
        self._scans = scans
        self.path = scans[0].path
        self.metadata: dict[str, Any] = _metadata(scans[0])
        self.missing_parts = tuple(missing_parts)
        """Numbers of parts that should be beside the first and are not."""
        self._damage = [damage for s in scans for damage in s.damage]

    @property
    def id(self) -> str:
        """Identifier shared by all parts."""
        return str(self.metadata.get("session", ""))

    @property
    def part_paths(self) -> tuple[Path, ...]:
        """The session's files."""
        return tuple(s.path for s in self._scans)

    @property
    def size(self) -> int:
        """Bytes on disk, of all parts."""
        return sum(s.size for s in self._scans)

    @property
    def closed(self) -> bool:
        """Whether the recorder ended every part itself; False after a crash, and while recording."""
        return all(s.closed for s in self._scans)

    @property
    def begins_ns(self) -> tuple[int, ...]:
        """Times at which the session was taken up again; a part that only goes on where a file was full is no start."""
        created = dict.fromkeys(_metadata(s).get("created_ns") for s in self._scans)
        return tuple(t_ns for t_ns in created if isinstance(t_ns, int))[1:]

    @property
    def damage(self) -> tuple[Damage, ...]:
        """Unreadable stretches known so far: those found on opening, and chunks found broken since."""
        return tuple(self._damage)

    @property
    def t0_ns(self) -> int:
        """Time of the first message; 0 in an empty session."""
        return min((c.t0_ns for s in self._scans for c in s.chunks), default=0)

    @property
    def t1_ns(self) -> int:
        """Time of the last message; 0 in an empty session."""
        return max((c.t1_ns for s in self._scans for c in s.chunks), default=0)

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of the recorded rigid bodies."""
        found = {c.metadata["body"]: None for s in self._scans for c in s.channels.values() if "body" in c.metadata}
        return tuple(found)

    @property
    def streams(self) -> tuple[str, ...]:
        """Names of the recorded raw streams."""
        raw = (c for s in self._scans for c in s.channels.values() if c.encoding == "raw")
        found = {c.topic.removeprefix(fmt.RAW): None for c in raw}
        return tuple(found)

    # What people and devices said.

    def events(self) -> tuple[Entry, ...]:
        """The workflow's events, in the order in which they were recorded."""
        return tuple(self._journal.get(fmt.EVENTS, ()))

    def presses(self) -> tuple[Entry, ...]:
        """Presses of the trigger."""
        return tuple(self._journal.get(fmt.PRESSES, ()))

    def device_events(self) -> tuple[Entry, ...]:
        """What was reported about devices."""
        return tuple(self._journal.get(fmt.DEVICE_EVENTS, ()))

    def documents(self) -> dict[str, dict[str, Any]]:
        """The newest version of each document by name: ``rig``, ``object``, ``calibration``, ``model``…"""
        entries = self._journal.get(fmt.DOCUMENTS, ())
        return {str(e.content.get("name", "")): dict(e.content.get("content") or {}) for e in entries}

    def takes(self) -> tuple[Take, ...]:
        """All takes, in the order in which they were recorded."""
        return tuple(Take.from_json(entry.content) for entry in self._journal.get(fmt.TAKES, ()))

    def take(self, name: str | int) -> Take:
        """A take by its number, or the last one of a name; raises ``SessionError`` listing what there is."""
        found = [t for t in self.takes() if name in (t.number, str(t.number), t.name)]
        if not found:
            there = ", ".join(f"{t.number} {t.name}" for t in self.takes()) or "none"
            raise SessionError(f"{self.path} has no take {name!r}. It has: {there}.")
        return found[-1]

    # Samples.

    def poses(self, body: str, t0_ns: int | None = None, t1_ns: int | None = None) -> PoseWindow:
        """Poses of a body within a window."""
        if body not in self.bodies:
            there = ", ".join(self.bodies) or "none"
            raise SessionError(f"{self.path} has no body {body!r}. Recorded bodies: {there}.")
        topics = self._topics(lambda c: c.metadata.get("body") == body)
        return pose_window(body, self._chunks(topics, t0_ns, t1_ns), t0_ns, t1_ns)

    def wrenches(self, t0_ns: int | None = None, t1_ns: int | None = None) -> WrenchWindow:
        """Wrenches within a window."""
        topics = self._topics(lambda c: c.topic in (fmt.WRENCH, fmt.WRENCH_STATUS))
        return wrench_window(self._chunks(topics, t0_ns, t1_ns), t0_ns, t1_ns)

    def datagrams(
        self, t0_ns: int | None = None, t1_ns: int | None = None, streams: Iterable[str] | None = None
    ) -> Iterator[Datagram]:
        """Raw datagrams in order of time; those of one stream in the order in which they were recorded."""
        for batch in self.datagram_batches(t0_ns, t1_ns, streams):
            yield from batch

    def datagram_batches(
        self, t0_ns: int | None = None, t1_ns: int | None = None, streams: Iterable[str] | None = None
    ) -> Iterator[Datagrams]:
        """The same in columns of up to a few thousand."""
        wanted = set(self.streams if streams is None else streams)
        topics = self._topics(lambda c: c.encoding == "raw" and c.topic.removeprefix(fmt.RAW) in wanted)
        return merged(self._chunks_ahead(topics, t0_ns, t1_ns), t0_ns, t1_ns)

    def runs(self) -> Iterator[tuple[str, Run]]:
        """Every run of messages with its topic, in the order of the file: one pass over everything."""
        for chunk in self._chunks(self._topics(lambda _: True)):
            yield from chunk

    def body_of(self, topic: str) -> str:
        """The exact name of the body that a topic tells about."""
        named = (c.metadata.get("body") for s in self._scans for c in s.channels.values() if c.topic == topic)
        return next((name for name in named if name), topic)

    def info(self) -> SessionInfo:
        """Duration, rates, gaps, takes, size and health; reads the whole session."""
        return summarise(self)

    # Chunks.

    def _topics(self, wanted: Callable[[Any], bool]) -> dict[Path, dict[int, str]]:
        """Channels to read, by file: number → topic."""
        return {s.path: {c.id: c.topic for c in s.channels.values() if wanted(c)} for s in self._scans}

    def _refs(self, t0_ns: int | None, t1_ns: int | None) -> list[ChunkRef]:
        every = (c for s in self._scans for c in s.chunks)
        return [c for c in every if (t1_ns is None or c.t0_ns <= t1_ns) and (t0_ns is None or c.t1_ns >= t0_ns)]

    def _chunks(
        self, topics: dict[Path, dict[int, str]], t0_ns: int | None = None, t1_ns: int | None = None
    ) -> Iterator[Chunk]:
        for chunk, _ in self._chunks_ahead(topics, t0_ns, t1_ns):
            yield chunk

    def _chunks_ahead(
        self, topics: dict[Path, dict[int, str]], t0_ns: int | None, t1_ns: int | None
    ) -> Iterator[tuple[Chunk, int | None]]:
        """Runs of each chunk, with the earliest time that any later chunk holds (None after the last)."""
        refs = self._refs(t0_ns, t1_ns)
        earliest: dict[ChunkRef, int | None] = {}
        soonest: int | None = None
        for ref in reversed(refs):
            earliest[ref] = soonest
            soonest = ref.t0_ns if soonest is None else min(soonest, ref.t0_ns)
        try:
            for ref, data in unpack_all(refs, self._damage):
                names = topics[ref.path]
                yield [(names[run.channel], run) for run in runs(data, names)], earliest[ref]
        except OSError as error:
            raise SessionError(f"Cannot read {self.path} any more: {error.strerror}.") from error

    @cached_property
    def _journal(self) -> dict[str, list[Entry]]:
        """All JSON messages by topic; read once, since they are few."""
        journal: dict[str, list[Entry]] = {}
        for chunk in self._chunks(self._topics(lambda c: c.encoding == "json")):
            for topic, run in chunk:
                entries = journal.setdefault(topic, [])
                for t_ns, body in zip(run.t_ns.tolist(), run.bodies, strict=True):
                    content = _json_object(body.tobytes())
                    if content is not None:
                        entries.append(Entry(t_ns, content))
        return journal


def open_session(path: str | Path) -> Session:
    """Open a session by the path of any of its parts.

    Raises ``SessionError`` when the file is missing, empty, foreign or of a future version. A damaged or
    unfinished session opens with what can be read: see :attr:`Session.damage` and :attr:`Session.closed`.
    """
    base = parts.base_path(Path(path))
    if not base.exists() and Path(path).exists():
        base = Path(path)
    first = scan(base)
    session_id = _metadata(first).get("session")
    scans, numbers = [first], [1]
    for number, later in parts.later_parts(base).items():
        other = scan(later)
        if _metadata(other).get("session") == session_id:
            scans.append(other)
            numbers.append(number)
    missing = sorted(set(range(1, max(numbers) + 1)) - set(numbers))
    return Session(scans, missing)


def _metadata(found: Scan) -> dict[str, Any]:
    if not found.metadata:
        if found.size < 4096 or found.damage:
            raise SessionError(f"The start of {found.path} is broken ({found.size} bytes): nothing can be read.")
        raise SessionError(
            f"{found.path} is an MCAP file of another program. Use `ident import` to make a session of it."
        )
    metadata = {}
    for key, value in found.metadata.items():
        try:
            metadata[key] = json.loads(value)
        except (ValueError, RecursionError):
            metadata[key] = value
    version = metadata.get("format")
    if not isinstance(version, int) or version < 1:
        raise SessionError(f"{found.path} does not say its format version ({version!r}); its start is damaged.")
    if version > fmt.VERSION:
        raise SessionError(f"{found.path} has format {version}; this program reads up to {fmt.VERSION}. Update ident.")
    return metadata


def _json_object(data: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None
