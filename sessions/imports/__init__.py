"""Recordings that labs already have, made into sessions: Motive CSV, pose logs, ROS bags."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from devices.buffer import PoseWindow
from devices.samples import PoseSample, PoseState
from sessions.errors import SessionError
from sessions.imports import motive, poselog, rosbag
from sessions.imports.recording import Recording
from sessions.reader import open_session
from sessions.recorder import Recorder
from sessions.take import Take

__all__ = ["Imported", "import_recording", "read_recording"]

_BLOCK = 5000
_ROS_SUFFIXES = (".bag", ".db3", ".mcap")


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import made."""

    path: Path
    bodies: tuple[str, ...]
    poses: int
    wrenches: int
    notes: tuple[str, ...]
    """Sentences about everything that was assumed, converted or left out."""


def read_recording(path: str | Path, *, rate_hz: float = 100.0) -> Recording:
    """Read a recording of any known kind, decided by its contents.

    ``rate_hz`` is used for pose logs without times. Raises ``SessionError`` for what cannot be read.
    """
    source = Path(path)
    if source.suffix.lower() == ".mcap" and _is_session(source):
        raise SessionError(f"{source} is a session already: every command takes it as it is.")
    if source.is_dir() or source.suffix.lower() in _ROS_SUFFIXES:
        return rosbag.read(source)
    text = _text(source)
    if motive.is_motive(text):
        return motive.read(source, text)
    return poselog.read(source, text, rate_hz)


def import_recording(
    path: str | Path, out: str | Path, *, body: str | None = None, rate_hz: float = 100.0, overwrite: bool = False
) -> Imported:
    """Write a recording as the session ``out``, with one take that spans it all.

    ``body`` names the body to keep; where the recording has only one, that one gets the name. The original stays as
    it is.
    """
    source = Path(path)
    recording = read_recording(source, rate_hz=rate_hz)
    bodies = _chosen(recording, source, body)
    wrench = recording.wrench
    spans = [window.t_ns for window in bodies.values()] + ([wrench.t_ns] if wrench else [])
    first, last = min(int(t[0]) for t in spans), max(int(t[-1]) for t in spans)
    metadata = {"object": source.stem, "imported": {"from": source.name, **recording.metadata}}
    with Recorder(out, metadata=metadata, overwrite=overwrite, now_ns=lambda: first) as recorder:
        for name, window in bodies.items():
            for samples in _blocks(name, window):
                recorder.poses(samples)
        if wrench:
            columns = (wrench.t_ns, wrench.sequence, wrench.wrench, wrench.status, wrench.valid, wrench.received_ns)
            for start in range(0, len(wrench), _BLOCK):
                recorder.wrench_columns(*(column[start : start + _BLOCK] for column in columns))
        recorder.document("import", {"notes": list(recording.notes)})
        recorder.take(Take(1, source.stem, "import", first, last))
    count = sum(len(window) for window in bodies.values())
    return Imported(Path(out), tuple(bodies), count, len(wrench) if wrench else 0, tuple(recording.notes))


def _is_session(source: Path) -> bool:
    try:
        open_session(source)
    except SessionError:
        return False
    return True


def _text(source: Path) -> str:
    try:
        data = source.read_bytes()
    except OSError as error:
        raise SessionError(f"Cannot read {source}: {error.strerror}. Check the path.") from error
    if not data.strip():
        raise SessionError(f"{source} is empty ({len(data)} bytes).")
    try:
        return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        western = data.decode("latin-1")
        if motive.is_motive(western):
            # Names of bodies as an older Windows wrote them.
            return western
        raise SessionError(
            f"{source} is neither text nor a ROS bag (byte {error.start} is no UTF-8). "
            "Known kinds: Motive CSV, pose logs `x y z qx qy qz qw`, ROS bags (.bag, .db3, .mcap)."
        ) from error


def _chosen(recording: Recording, source: Path, body: str | None) -> dict[str, PoseWindow]:
    bodies = {name: window for name, window in recording.bodies.items() if len(window)}
    if not bodies and not (recording.wrench and len(recording.wrench)):
        raise SessionError(f"{source} holds no samples.")
    if body is None or body in bodies:
        return bodies if body is None else {body: bodies[body]}
    if len(bodies) == 1:
        ((name, window),) = bodies.items()
        if recording.named:
            recording.notes.append(f"The only body {name!r} was imported as {body!r}.")
        return {body: window}
    raise SessionError(f"{source} has no body {body!r}. It has: {', '.join(bodies) or 'none'}.")


def _blocks(name: str, window: PoseWindow) -> Iterator[list[PoseSample]]:
    columns = (
        window.t_ns, window.sequence, window.positions, window.quaternions, window.mean_error, window.states,
        window.received_ns, window.ticks,
    )  # fmt: skip
    for start in range(0, len(window), _BLOCK):
        rows = zip(*(column[start : start + _BLOCK].tolist() for column in columns), strict=True)
        yield [
            PoseSample(t, name, sequence, tuple(at), tuple(turn), error, PoseState(state), received, ticks)
            for t, sequence, at, turn, error, state, received, ticks in rows
        ]
