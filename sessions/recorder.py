"""The recorder: everything that happens, on disk within half a second, without slowing those who measure."""

import json
import os
import platform
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devices.samples import DeviceEvent, PoseSample, Press, WrenchSample
from sessions import format as fmt
from sessions.encoder import Encoder, Pending, chunks, to_json
from sessions.errors import SessionError
from sessions.parts import next_part, part_path, remove_later_parts
from sessions.take import Take
from sessions.writer import PartWriter

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class RecorderConfig:
    """Limits of a recorder; the defaults suit a workstation."""

    flush_s: float = 0.15
    """Longest time (real seconds) that something handed over waits before it is in the file."""
    part_bytes: int = 4 * GIB
    """A file that grew to this size is finished and the session goes on in the next part."""
    pending_bytes: int = 64 << 20
    """Memory for what waits; beyond it the caller waits too."""
    stall_s: float = 5.0
    """A caller that waited so long gets a ``SessionError``: the disk is too slow, and nothing is dropped
    silently.
    """
    warn_free_bytes: int = 5 * GIB
    """Free disk space below which :attr:`RecorderHealth.warning` says so."""
    stop_free_bytes: int = 256 << 20
    """Free disk space below which recording ends, with a complete file."""


@dataclass(frozen=True, slots=True)
class RecorderHealth:
    """What the recorder is doing."""

    path: Path
    """The file being written: the session's newest part."""
    part: int
    written_bytes: int
    """Of all parts."""
    pending_bytes: int
    stalls: int
    """How often a caller had to wait for the disk."""
    free_bytes: int
    """Left on the disk at the last flush."""
    warning: str
    """Empty, or a sentence for the operator."""
    error: str
    """Empty, or why nothing is recorded any more."""


class Recorder:
    """Writes one session; every method may be called from any thread and returns without touching the disk.

    Only :meth:`sync`, :meth:`take` and :meth:`close` wait for the disk. When the writer failed, the next call
    of any method raises its ``SessionError``: a failing recorder stops the measurement.

    ``metadata`` is JSON that describes the session (object, operator, seed…); software versions are added.
    ``now_ns`` is the host clock, used for what carries no time of its own. With ``resume`` an existing
    session goes on in a new part, and what is there stays untouched; with ``overwrite`` it is replaced.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        metadata: Mapping[str, Any],
        now_ns: Callable[[], int] = time.time_ns,
        config: RecorderConfig | None = None,
        resume: bool = False,
        overwrite: bool = False,
        free_bytes: Callable[[Path], int] | None = None,
    ) -> None:
        self._config = config or RecorderConfig()
        self._now_ns = now_ns
        self._free_bytes = free_bytes or _free_bytes
        self._base = Path(path)
        self._part, session_id = next_part(self._base) if resume else (1, uuid.uuid4().hex)
        self._metadata = {
            **metadata,
            "format": fmt.VERSION,
            "session": session_id,
            "created_ns": now_ns(),
            "software": software(),
        }
        self._documents: dict[str, bytes] = {}
        self._finished_bytes = 0
        self._free = self._free_bytes(self._base.parent) if self._base.parent.exists() else 0
        self._warning = ""
        self._error: SessionError | None = None
        self._stalls = 0
        self._pending = Pending()
        self._changed = threading.Condition()
        self._sync_asked = 0
        self._sync_done = 0
        self._closing = False
        self._encoder = Encoder()
        self._writer = self._open_part(overwrite=overwrite)
        if overwrite:
            remove_later_parts(self._base)
        self._thread = threading.Thread(target=self._guarded_run, name="recorder", daemon=True)
        self._thread.start()

    # What happens.

    def datagram(self, stream: str, t_ns: int, data: bytes) -> None:
        """One raw datagram, received (or sent) at host time ``t_ns`` on a stream such as ``natnet/data``."""
        with self._changed:
            self._make_room(len(data) + 120)
            self._pending.datagrams[stream].append((t_ns, data))

    def poses(self, samples: Sequence[PoseSample]) -> None:
        """Decoded poses, for example all bodies of a frame."""
        with self._changed:
            self._make_room(400 * len(samples))
            self._pending.poses += samples

    def wrenches(self, samples: Sequence[WrenchSample]) -> None:
        """Decoded wrenches."""
        if samples:
            self._wrenches(fmt.WrenchBatch.of(samples))

    def wrench_columns(self, t_ns: Any, sequence: Any, wrench: Any, status: Any, valid: Any, received_ns: Any) -> None:
        """Decoded wrenches as columns: (n,) each, ``wrench`` (n, 6) force in N then torque in N m."""
        self._wrenches(fmt.WrenchBatch(t_ns, sequence, wrench, status, valid, received_ns))

    def press(self, press: Press) -> None:
        """One press of the trigger."""
        self._journal(fmt.PRESSES, press.t_ns, asdict(press))

    def device_event(self, event: DeviceEvent) -> None:
        """A device was lost, resumed, changed…"""
        self._journal(fmt.DEVICE_EVENTS, event.t_ns, asdict(event))

    def event(self, t_ns: int, event: Mapping[str, Any]) -> None:
        """One event of the workflow, as JSON; a fold over them gives the workflow's state back."""
        self._journal(fmt.EVENTS, t_ns, event)

    def document(self, name: str, content: Mapping[str, Any], t_ns: int | None = None) -> None:
        """A named document (``rig``, ``object``, ``calibration``, ``model``…) as it is from now on."""
        t = self._now_ns() if t_ns is None else t_ns
        entry = {"name": name, "content": content}
        self._journal(fmt.DOCUMENTS, t, entry)
        with self._changed:
            self._documents[name] = to_json(entry)

    def take(self, take: Take) -> None:
        """A finished take; returns when everything until now is on the disk."""
        self._journal(fmt.TAKES, take.t1_ns, take.to_json())
        self.sync()

    # Control.

    def sync(self) -> None:
        """Return once everything handed over before is on the disk itself (fsync)."""
        with self._changed:
            self._raise_error()
            self._sync_asked += 1
            ticket = self._sync_asked
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._sync_done >= ticket or self._error or self._closing)
            self._raise_error()

    def health(self) -> RecorderHealth:
        """Never raises."""
        with self._changed:
            return RecorderHealth(
                path=self._writer.path,
                part=self._part,
                written_bytes=self._finished_bytes + self._writer.size,
                pending_bytes=self._pending.size,
                stalls=self._stalls,
                free_bytes=self._free,
                warning=self._warning,
                error=str(self._error or ""),
            )

    def close(self) -> None:
        """Write what waits, add the summary, release the file.

        Idempotent; raises if the writer had failed.
        """
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        if self._error:
            raise self._error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except SessionError:
            if error is None:
                raise

    # Callers' side, under the lock.

    def _wrenches(self, batch: fmt.WrenchBatch) -> None:
        with self._changed:
            self._make_room(100 * len(batch) + 600)
            self._pending.wrenches.append(batch)

    def _journal(self, topic: str, t_ns: int, content: Mapping[str, Any]) -> None:
        data = to_json(content)
        with self._changed:
            self._make_room(len(data) + 200)
            self._pending.journal.append((topic, t_ns, data))

    def _make_room(self, size: int) -> None:
        """Count ``size`` more bytes as pending, after waiting for the disk where there are too many."""
        self._raise_error()
        if self._closing:
            raise SessionError(f"The recording {self._base} is closed; start a new one.")
        if self._pending.size + size > self._config.pending_bytes and self._pending:
            self._stalls += 1
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: not self._pending or self._error, self._config.stall_s):
                self._fail(
                    f"The disk of {self._base.parent} did not take {self._pending.size / 1e6:.0f} MB within "
                    f"{self._config.stall_s:g} s. Record to a faster disk."
                )
            self._raise_error()
        self._pending.size += size

    def _raise_error(self) -> None:
        if self._error:
            raise self._error

    def _fail(self, message: str) -> None:
        self._error = self._error or SessionError(message)
        self._changed.notify_all()

    # The writer thread.

    def _guarded_run(self) -> None:
        finished = False
        try:
            self._run()
            finished = True
        finally:
            if not finished:
                with self._changed:
                    self._fail(f"Recording to {self._writer.path} stopped by a fault of this program; see the log.")

    def _run(self) -> None:
        closing = False
        while not closing:
            with self._changed:
                self._changed.wait_for(self._must_write, self._config.flush_s)
                closing = self._closing or self._error is not None
                pending, self._pending = self._pending, Pending()
                ticket = self._sync_asked
                self._changed.notify_all()
            try:
                self._write(pending)
                if ticket > self._sync_done:
                    self._writer.sync()
                closing = self._watch_disk() or closing
                if closing:
                    self._writer.close()
            except (OSError, SessionError) as error:
                closing = True
                self._writer.abandon()
                reason = error.strerror if isinstance(error, OSError) else str(error)
                with self._changed:
                    self._fail(f"Recording to {self._writer.path} stopped: {reason}. What was written is complete.")
            with self._changed:
                self._sync_done = ticket
                self._changed.notify_all()

    def _must_write(self) -> bool:
        return (
            self._closing
            or self._error is not None
            or self._sync_asked > self._sync_done
            or self._pending.size > self._config.pending_bytes // 4
        )

    def _write(self, pending: Pending) -> None:
        if not pending:
            return
        batches = self._encoder.encode(pending)
        for channel in self._encoder.new_channels:
            self._writer.add_channel(channel)
        self._encoder.new_channels.clear()
        for chunk in chunks(batches):
            self._writer.write_chunk(chunk)
        if self._writer.size > self._config.part_bytes:
            self._next_part()

    def _next_part(self) -> None:
        self._writer.close()
        with self._changed:
            self._finished_bytes += self._writer.size
            self._part += 1
            documents = dict(self._documents)
        self._encoder = Encoder()
        self._writer = self._open_part(overwrite=False)
        repeated = Pending()
        repeated.journal = [(fmt.DOCUMENTS, self._now_ns(), data) for data in documents.values()]
        repeated.size = sum(map(len, documents.values()))
        self._write(repeated)

    def _open_part(self, *, overwrite: bool) -> PartWriter:
        entries = {key: to_json(value).decode() for key, value in self._metadata.items()}
        entries["part"] = json.dumps(self._part)
        return PartWriter(part_path(self._base, self._part), entries, overwrite=overwrite)

    def _watch_disk(self) -> bool:
        """True when recording must end because the disk is nearly full."""
        free = self._free_bytes(self._writer.path.parent)
        folder = self._writer.path.parent
        with self._changed:
            self._free = free
            self._warning = ""
            if free < self._config.warn_free_bytes:
                self._warning = f"{free / 1e9:.2f} GB left on the disk of {folder}. Free some space soon."
            if free < self._config.stop_free_bytes and self._error is None:
                self._fail(
                    f"Recording stopped: {free / 1e6:.0f} MB left on the disk of {folder}. "
                    "Everything until now is in the file. Free some space, then resume the session."
                )
                return True
        return False


def software() -> dict[str, str]:
    """Versions of what computes, for repeating a result years later."""
    versions = {"python": platform.python_version(), "system": platform.platform()}
    for name in ("ident", "numpy", "scipy", "numba", "scikit-learn"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return versions


def _free_bytes(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize
