"""The NatNet driver: sockets and one receive thread around the conversation with the server."""

import heapq
import math
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Self

from devices.buffer import PoseBuffer
from devices.clock import HostClock
from devices.errors import DeviceError
from devices.natnet import packets
from devices.natnet.config import NatNetConfig, NatNetHealth
from devices.natnet.connection import Connection, describe
from devices.natnet.messages import Disconnect, Message
from devices.natnet.sockets import (
    MOST_AT_ONCE,
    StampedSocket,
    local_address_towards,
    open_command_socket,
    open_multicast_socket,
)
from devices.natnet.stream import PoseStream
from devices.natnet.types import NEWEST
from devices.samples import DeviceEvent, PoseSample

Tap = Callable[[str, int, bytes], None]
"""Gets stream name, host time of receipt and bytes of every datagram of the server."""

_POLL_S = 0.05


class NatNetClient:
    """A motion-capture server, streaming poses of rigid bodies into ``buffers``, body-to-world, metres.

    Callbacks run on the receive thread. ``tap`` gets every datagram of the server before it is decoded,
    ``on_poses`` the samples of every frame, ``on_event`` what the operator should know.
    """

    def __init__(
        self,
        config: NatNetConfig,
        clock: HostClock,
        *,
        tap: Tap | None = None,
        on_event: Callable[[DeviceEvent], None] | None = None,
        on_poses: Callable[[Sequence[PoseSample]], None] | None = None,
    ) -> None:
        self.config = config
        self._clock = clock
        self._tap = tap
        self._on_event = on_event
        self._on_poses = on_poses
        self._events: list[DeviceEvent] = []
        self._stream = PoseStream(config.bodies, config.capacity, config.max_mean_error_m, clock.speed)
        self._connection = Connection(config, clock, self._tell, self._stream)
        self._changed = threading.Condition()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._address = ""
        self._interface = ""
        self._command: StampedSocket | None = None
        self._data: StampedSocket | None = None
        self._data_place: tuple[str, int] | None = None
        self._foreign = 0
        self._reached_ns = 0
        self._drops_before = 0
        self._failure = ""

    # For the caller's thread.

    def start(self) -> None:
        """Open the sockets and begin to connect; :meth:`wait_ready` waits for the first poses."""
        if self._thread is not None:
            if not self._failure:
                return
            self._thread.join()
        self._stopping.clear()
        self._failure = ""
        try:
            self._address = socket.gethostbyname(self.config.server)
            self._interface = self.config.interface or local_address_towards(self._address)
            self._command = open_command_socket(self.config.interface)
            if self.config.multicast is not None:
                self._listen_to(self.config.multicast, self.config.data_port)
        except OSError as error:
            self._close()
            raise DeviceError(
                f"The network to the NatNet server '{self.config.server}' cannot be used "
                f"(interface '{self.config.interface or 'any'}', multicast {self.config.multicast}): {error}. "
                "Check the addresses in the rig file, then run `ident check`."
            ) from error
        self._connection = Connection(self.config, self._clock, self._tell, self._stream)
        self._thread = threading.Thread(target=self._run, name=f"natnet {self.config.server}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take leave of the server, end the thread, close the sockets. More than once does no harm."""
        self._stopping.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
            self._thread = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def buffers(self) -> Mapping[str, PoseBuffer]:
        """Buffers of the recorded bodies by name; without chosen bodies they appear as the server names them."""
        return self._stream.buffers

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of all rigid bodies that the server streams."""
        return self._stream.streaming

    def markers(self, body: str) -> tuple[tuple[float, float, float], ...]:
        """Markers of a body in its own frame, metres; none where the server does not describe them."""
        return self._stream.markers.get(body, ())

    def ticks_to_host(self, ticks: int) -> int:
        """Return the host time, nanoseconds, of a reading of the server's clock."""
        sync = self._stream.sync
        if sync is None or not sync.ready:
            raise DeviceError(
                f"The clock of the server at {self.config.server} is not known: it told no frequency or answered "
                "no echo. Run `ident check`."
            )
        return sync.to_host(ticks)

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until every body has come and the clock is known, at most ``timeout_s`` real seconds."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while not self._ready():
                left = deadline - time.monotonic()
                if left <= 0.0 or self._failure or self._hopeless():
                    raise DeviceError(self._explanation(timeout_s))
                self._changed.wait(min(left, _POLL_S))

    def health(self) -> NatNetHealth:
        """Return how the stream is doing."""
        now_ns = self._clock.now_ns()
        with self._changed:
            connection, stream = self._connection, self._stream
            sync = stream.sync
            median_ms, max_ms = stream.latency_ms()
            return NatNetHealth(
                state=connection.state if self._thread is not None and not self._failure else "stopped",
                server=describe(connection.info) if connection.info else "",
                version=connection.version,
                multicast=self._data is not None,
                rate_hz=stream.rate(now_ns),
                frames=stream.frames,
                lost_frames=stream.counter.lost,
                duplicates=stream.counter.duplicates,
                out_of_order=stream.counter.out_of_order,
                restarts=stream.counter.restarts,
                malformed=connection.malformed,
                last_malformed=connection.last_malformed,
                foreign=self._foreign,
                unnamed=stream.unnamed,
                kernel_drops=self._drops_before
                + sum(s.kernel_drops for s in (self._command, self._data) if s is not None),
                silences=connection.silences,
                time_source=stream.time_source,
                latency_median_ms=median_ms,
                latency_max_ms=max_ms,
                clock_hz=sync.clock_hz if sync else 0,
                clock_offset_ns=sync.offset_ns if sync else 0,
                clock_drift_ppm=sync.drift_ppm if sync else 0.0,
                round_trip_ms=sync.round_trip_ns / 1e6 if sync and sync.ready else math.nan,
                exchanges=sync.exchanges if sync else 0,
                clock_steps=sync.steps if sync else 0,
                recording=connection.recording,
                edit_mode=connection.edit_mode,
                bodies=stream.health(now_ns),
                failure=self._failure,
            )

    def _ready(self) -> bool:
        stream = self._stream
        timed = self._connection.clock_known or stream.time_source == "receipt"
        return (
            not self._failure
            and self._connection.state == "streaming"
            and stream.models_known
            and timed
            and bool(stream.buffers)
            and not stream.missing()
            and not stream.waiting()
        )

    def _hopeless(self) -> bool:
        """Whether waiting longer is in vain: the server streams, but not the chosen bodies."""
        return bool(self._connection.state == "streaming" and self._stream.models_known and self._stream.missing())

    def _explanation(self, timeout_s: float) -> str:
        """Say everything that is missing, and what to do."""
        place = f"{self.config.server}:{self.config.command_port}"
        stream, info = self._stream, self._connection.info
        if self._failure:
            return f"The NatNet driver for {place} stopped: {self._failure}"
        if self._thread is None:
            return f"The NatNet driver for {place} is not started."
        if info is None:
            foreign = f" {self._foreign} datagrams came from other addresses." if self._foreign else ""
            return (
                f"No NatNet server answered at {place} within {timeout_s:.1f} s.{foreign} Check that Motive runs, "
                "that its streaming is switched on and that the address is right, then run `ident check`."
            )
        server = f"{describe(info)} at {place}"
        problems = []
        if not stream.frames:
            way = f"multicast {self._data_place[0]}" if self._data_place else "unicast"
            problems.append(
                f"{server} answered but sent no readable frames within {timeout_s:.1f} s ({way}, "
                f"{self._connection.malformed} malformed {self._connection.last_malformed}). Check that Motive "
                "streams frame data through the right network card and that no firewall is in between."
            )
        if not stream.models_known:
            problems.append(f"{server} sent no model definitions, so that bodies have no names.")
        else:
            names = ", ".join(f"'{name}'" for name in stream.streaming) or "none"
            problems += [
                f"The rigid body '{name}' is not streaming from {server}. Streaming are: {names}. Correct the "
                "name in the rig file or switch the body on in Motive."
                for name in stream.missing()
            ]
            silent = [name for name in stream.waiting() if name not in stream.missing()]
            problems += [f"No pose of '{name}' came within {timeout_s:.1f} s." for name in silent]
            if not stream.streaming:
                problems.append(f"{server} streams no rigid body. Create or switch one on in Motive.")
        if not problems:
            problems.append(f"{server} did not answer the echo requests for its clock within {timeout_s:.1f} s.")
        return " ".join([*problems, "Then run `ident check`."])

    # On the receive thread.

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._round()
        except Exception as error:  # noqa: BLE001 - whatever ends this thread, a callback included, must be told
            self._failure = f"{type(error).__name__}: {error}"
            self._tell("lost", f"The motion-capture driver stopped: {self._failure}. Start it again.")
            with suppress(Exception):  # the callback may be what failed
                self._deliver_events()
        finally:
            self._send([Disconnect()])
            self._close()
            with self._changed:
                self._changed.notify_all()

    def _round(self) -> None:
        """Wait for datagrams, take them in, send what is due."""
        before_ns = self._clock.now_ns()
        sockets = [s for s in (self._command, self._data) if s is not None]
        readable, _, _ = select.select(sockets, [], [], _POLL_S)
        waiting = [ready.drain() for ready in readable]
        # Of two sockets neither is read ahead of the other.
        for arrival in heapq.merge(*waiting, key=lambda arrival: arrival.realtime_ns):
            if arrival.sender != self._address:
                self._foreign += 1
                continue
            self._receive(arrival.data, arrival.realtime_ns)
        with self._changed:
            if all(len(drained) < MOST_AT_ONCE for drained in waiting):
                # Nothing that was received before is left, so that a silence is the server's and not ours.
                self._reached_ns = max(self._reached_ns, before_ns)
                self._connection.notice_silence(self._seconds(before_ns))
            due = self._connection.due(self._seconds(self._clock.now_ns()))
            self._changed.notify_all()
        self._send(due)
        self._follow_server()
        self._deliver_events()

    def _seconds(self, t_ns: int) -> float:
        """Real time of the host's time, for time-outs."""
        return t_ns / 1e9 / self._clock.speed

    def _receive(self, data: bytes, realtime_ns: int) -> None:
        # Later than all before it, by which a replay knows the order in which they were taken in.
        received_ns = self._reached_ns = max(self._clock.from_kernel_stamp(realtime_ns), self._reached_ns + 1)
        if self._tap is not None:
            is_frame = data[:2] == packets.FRAME_ID.to_bytes(2, "little")
            self._tap("natnet/data" if is_frame else "natnet/command", received_ns, data)
        with self._changed:
            samples = self._connection.receive(data, received_ns, self._seconds(received_ns))
        if samples and self._on_poses is not None:
            self._on_poses(samples)
        self._deliver_events()

    def _send(self, messages: Sequence[Message]) -> None:
        if self._command is not None:
            for message in messages:
                data = packets.encode(message, NEWEST)
                self._command.send(data, (self._address, self.config.command_port))

    def _follow_server(self) -> None:
        """Listen to the multicast group that the server names, unless the configuration names another."""
        info = self._connection.info
        if info is None or not info.multicast or self.config.multicast is not None:
            return
        group = ".".join(map(str, info.group))
        place = (group, info.data_port or self.config.data_port)
        if place == self._data_place:
            return
        try:
            self._listen_to(*place)
        except OSError as error:
            self._data_place = place
            self._tell(
                "warning",
                f"The multicast group {group}, port {place[1]}, that the server names cannot be joined through "
                f"{self._interface}: {error}. Set `interface` in the rig file.",
            )

    def _listen_to(self, group: str, port: int) -> None:
        opened = open_multicast_socket(group, port, self._interface)
        if self._data is not None:
            self._drops_before += self._data.kernel_drops
            self._data.close()
        self._data, self._data_place = opened, (group, port)

    def _close(self) -> None:
        for opened in (self._command, self._data):
            if opened is not None:
                self._drops_before += opened.kernel_drops
                opened.close()
        self._command = self._data = None
        self._data_place = None

    def _tell(self, kind: str, message: str) -> None:
        self._events.append(DeviceEvent(self._clock.now_ns(), "mocap", kind, message))

    def _deliver_events(self) -> None:
        """Call back outside the lock, so that the callback may ask for anything."""
        events, self._events = self._events, []
        if self._on_event is not None:
            for event in events:
                self._on_event(event)
