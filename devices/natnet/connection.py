"""The conversation with a NatNet server: what to send when, what an answer means. No sockets, no threads.

Host time (nanoseconds) is for samples and events. Time-outs are in real seconds, which are host time divided by the
clock's speed, so that an application that lives ten times faster does not take a busy machine for a silent server.
What a datagram means depends on its time of receipt and on those before it, never on when this program came to read
it: so a replay comes to the same, however busy the computer was.
"""

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from devices.clock import EchoSync, HostClock
from devices.natnet import packets
from devices.natnet.config import NatNetConfig
from devices.natnet.descriptions import ModelDef
from devices.natnet.library import LibraryDecoder
from devices.natnet.messages import (
    Connect,
    Disconnect,
    DisconnectByTimeout,
    EchoRequest,
    EchoResponse,
    Frame,
    KeepAlive,
    Message,
    Request,
    RequestModelDef,
    Response,
    Sender,
    ServerInfo,
)
from devices.natnet.reader import Malformed
from devices.natnet.shapes import FrameDecoder
from devices.natnet.stream import MOST_BODIES, PoseStream
from devices.natnet.types import NEWEST, OLDEST, Version
from devices.ring import Floats, Ints
from devices.samples import PoseSample

LOST_HOST_S = 0.6
LOST_REAL_S = 0.5
"""A stream is lost after 0.6 s of host time, but never under 0.5 s of real time."""
_RETRY_S = (0.1, 2.0)
"""Shortest and longest time between attempts to connect."""
_ASK_AGAIN_S = 0.5
"""Between repeated requests for the same thing."""
_SETTLE_S = 1.0
"""Frames wait this long, at most, for names and clock."""
_MOST_WAITING = 512
_AT_ONCE = 4
"""Waiting frames that are taken in with each new datagram, so that none has to wait for all of them."""
_MOST_TOLD = 64
_BURST = 16
"""Echo exchanges at the start, one upon another."""
_QUICK_EXCHANGES = 5
_QUICK_NS = 2_000_000
"""So many exchanges are enough where the shortest round trip is this short; elsewhere the whole burst is needed."""

_RECORDING, _CHANGES, _EDIT_MODE = 1, 2 | 8, 4
"""Bits of a frame's parameters, as its properties read them."""


class Connection:
    """The state of the conversation; feed it datagrams, and send what it wants sent."""

    def __init__(
        self, config: NatNetConfig, clock: HostClock, tell: Callable[[str, str], None], stream: PoseStream
    ) -> None:
        self.config = config
        self.stream = stream
        self.state: Literal["connecting", "streaming", "lost"] = "connecting"
        self.info: ServerInfo | None = None
        """The server's last answer."""
        self.version: Version | None = None
        self.malformed = 0
        self.last_malformed = ""
        self.silences = 0
        self.recording = False
        self.edit_mode = False
        self._clock = clock
        self._tell = tell
        self._speed = max(1.0, clock.speed)
        self._lost_after_s = max(LOST_REAL_S, clock.real_s(LOST_HOST_S))
        self._answered = False
        self._last_frame_s = 0.0
        self._last_frame_ns = 0
        self._lost_ns = 0
        self._retry_s, self._connect_s = _RETRY_S[0], 0.0
        self._models_s: float | None = None
        self._keepalive_s = 0.0
        self._echo_s = 0.0
        self._settled_by_s = 0.0
        self._echoes: dict[int, None] = {}
        self._burst = 0
        self._waiting: deque[tuple[bytes, int]] = deque(maxlen=_MOST_WAITING)
        self._wish_s = 0.0
        self._told: set[str] = set()
        self._frames: FrameDecoder | LibraryDecoder = FrameDecoder()
        self._library: LibraryDecoder | None = None
        if config.driver == "natnetclient":
            self._frames = self._library = LibraryDecoder()

    # What to send.

    def due(self, now_s: float) -> list[Message]:
        """Return what is to be sent now; call it at least every 50 ms."""
        out: list[Message] = []
        if not self._answered:
            if now_s >= self._connect_s:
                self._connect_s = now_s + self._retry_s
                self._retry_s = min(2.0 * self._retry_s, _RETRY_S[1])
                out.append(self._greeting())
            return out
        if self._models_s is not None and now_s >= self._models_s:
            self._models_s = now_s + _ASK_AGAIN_S
            out.append(RequestModelDef())
        if now_s >= self._keepalive_s and not (self.info and self.info.multicast):
            self._keepalive_s = now_s + 1.0 / self._speed
            out.append(KeepAlive())
        if self.stream.sync is not None and now_s >= self._echo_s:
            self._echo_s = now_s + (0.05 if self._burst > 0 else max(0.1, 1.0 / self._speed))
            out.append(self._echo())
        wish = self._wish()
        if wish is not None and wish != self.version and now_s >= self._wish_s:
            self._wish_s = now_s + _ASK_AGAIN_S
            out.append(Request(f"Bitstream,{wish[0]}.{wish[1]}"))
        return out

    def _greeting(self) -> Connect:
        wish = self.config.version
        bitstream = None if wish is None else (*wish, 0, 0)
        return Connect(Sender("ident", natnet_version=(*NEWEST, 0, 0)), False, bitstream)

    def _echo(self) -> EchoRequest:
        stamp = self._clock.now_ns()
        self.expect_echo(stamp)
        return EchoRequest(stamp)

    def expect_echo(self, stamp: int) -> None:
        """Accept the answer to an echo request with this stamp, as :meth:`due` does for those that it sends."""
        self._echoes[stamp] = None
        while len(self._echoes) > 64:
            del self._echoes[next(iter(self._echoes))]

    def _wish(self) -> Version | None:
        """Return the version to ask for: the configured one, or one that we know. Only unicast can be asked."""
        info = self.info
        if info is None or info.multicast or info.version < (4, 0):
            return None
        return self.config.version or (NEWEST if info.version > NEWEST else None)

    def notice_silence(self, now_s: float) -> None:
        """Say so when nothing came for too long, by a time up to which everything that was received is taken in."""
        if not self._answered or now_s - self._last_frame_s <= self._lost_after_s:
            return
        self._answered = False
        self._retry_s, self._connect_s = _RETRY_S[0], now_s
        if self.state == "streaming":
            self.state = "lost"
            self.silences += 1
            self._lost_ns = self._last_frame_ns
            silent_s = (self._clock.now_ns() - self._last_frame_ns) / 1e9
            unread = f" {self.malformed} datagrams could not be read so far." if self.malformed else ""
            self._tell(
                "lost",
                f"No NatNet frames from {self.config.server} for {silent_s:.1f} s.{unread} Check that Motive is "
                "streaming, then run `ident check`. The stream is taken up again as soon as it is back.",
            )

    # What was received.

    def receive(self, datagram: bytes, received_ns: int, now_s: float) -> Sequence[PoseSample]:
        """Take in a datagram of the server and return the samples that it brought."""
        self.notice_silence(now_s)
        try:
            if packets.message_id(datagram) == packets.FRAME_ID:
                return self._receive_frame(datagram, received_ns, now_s)
            message = packets.decode(datagram, self.version or OLDEST)
            if self._library is not None and isinstance(message, ModelDef):
                self._library.take_models(datagram, self.version or OLDEST)
            self._receive_answer(message, received_ns, now_s)
        except Malformed as error:
            self._count_malformed(error, now_s)
        return self._flush(now_s)

    def receive_run(self, frames: NDArray[np.void], received_ns: Ints, now_s: Floats) -> int:
        """Take in frames of one length, from the first on, as long as they bring nothing but poses; how many they are.

        Buffers and counts are then as after :meth:`receive` of each of them.
        """
        if not (self._answered and self._undisturbed and isinstance(self._frames, FrameDecoder)):
            return 0
        decoded = self._frames.decode_frames(frames, self.version or OLDEST)
        if not len(decoded):
            return 0
        params = decoded["params"]
        silent = np.diff(now_s[: len(decoded)], prepend=self._last_frame_s) > self._lost_after_s
        usual = ~silent & (params & _CHANGES == 0) & ((params & _EDIT_MODE != 0) == self.edit_mode)
        n = int(np.append(usual, False).argmin())
        taken = self.stream.take_run(decoded[:n], received_ns[:n]) if n else 0
        if taken:
            self._last_frame_s, self._last_frame_ns = float(now_s[taken - 1]), int(received_ns[taken - 1])
            self.recording = bool(params[taken - 1] & _RECORDING)
        return taken

    @property
    def _undisturbed(self) -> bool:
        """Whether frames are taken in as they come, and nothing else is waited for."""
        settled = self.stream.models_known and self.clock_known and self._models_s is None
        return settled and self.state == "streaming" and not self._waiting

    def _count_malformed(self, error: Malformed, now_s: float) -> None:
        """Count, and ask the server who it is: another one may have taken its place."""
        self.malformed += 1
        self.last_malformed = str(error)
        if self._answered and now_s >= self._connect_s:
            self._answered = False
            self._retry_s, self._connect_s = _ASK_AGAIN_S, now_s

    def _receive_frame(self, datagram: bytes, received_ns: int, now_s: float) -> Sequence[PoseSample]:
        if not self._answered:
            self._connect_s = min(self._connect_s, now_s + _RETRY_S[0])
        if self._waiting or not self._settled(now_s):
            self._waiting.append((datagram, received_ns))
            self._last_frame_s = now_s
            return self._flush(now_s)
        return self._take_frame(datagram, received_ns, now_s)

    def _settled(self, now_s: float) -> bool:
        """Whether names and clock are known, or have been waited for long enough."""
        if self.version is None or (self.state != "streaming" and not self._answered):
            return False
        return (self.stream.models_known and self.clock_known) or now_s >= self._settled_by_s

    @property
    def clock_known(self) -> bool:
        """Whether ticks can be mapped well, or the server has none."""
        sync = self.stream.sync
        if sync is None or sync.exchanges >= _BURST:
            return True
        return sync.exchanges >= _QUICK_EXCHANGES and sync.round_trip_ns <= _QUICK_NS * self._speed

    def _flush(self, now_s: float) -> Sequence[PoseSample]:
        if not self._waiting or not self._settled(now_s):
            return ()
        samples: list[PoseSample] = []
        for _ in range(min(_AT_ONCE, len(self._waiting))):
            datagram, received_ns = self._waiting.popleft()
            try:
                samples.extend(self._take_frame(datagram, received_ns, now_s))
            except Malformed as error:
                self._count_malformed(error, now_s)
        return samples

    def _take_frame(self, datagram: bytes, received_ns: int, now_s: float) -> Sequence[PoseSample]:
        version = self.version or OLDEST
        frame = self._frames.decode_frame(datagram, version)
        self._last_frame_s = now_s
        self._last_frame_ns = received_ns
        unnamed = self.stream.unnamed
        samples = self.stream.take(frame, received_ns)
        if (frame.models_changed or self.stream.unnamed > unnamed) and self._models_s is None:
            self._models_s = now_s
        if frame.bitstream_changed and now_s >= self._connect_s:
            self._answered = False
            self._connect_s = now_s
        self._follow_modes(frame)
        if self.state != "streaming":
            self._announce(received_ns)
        return samples

    def _announce(self, received_ns: int) -> None:
        resumed = self.state == "lost"
        self.state = "streaming"
        server = f"{describe(self.info)} at {self.config.server}"
        if resumed:
            gap_s = (received_ns - self._lost_ns) / 1e9
            self._tell("resumed", f"{server} streams again after {gap_s:.1f} s, which are missing in the record.")
        else:
            self._tell("connected", f"{server} streams {_listed(self.stream.streaming)}.")
        if self.stream.sync is not None and self.stream.time_source == "receipt":
            self._tell_once(
                "warning",
                "The frames carry no usable exposure time; poses are timed by their receipt, which is later by "
                "a constant. Run `ident check --latency` to measure it.",
            )

    def _follow_modes(self, frame: Frame) -> None:
        if frame.edit_mode and not self.edit_mode:
            self._tell("warning", "Motive plays a recording (edit mode). Switch it to live mode to measure.")
        self.edit_mode = frame.edit_mode
        self.recording = frame.recording

    def _receive_answer(self, message: Message, received_ns: int, now_s: float) -> None:
        match message:
            case ServerInfo():
                self._greet(message, now_s)
            case ModelDef():
                self._name(message)
            case EchoResponse(stamp, ticks) if self.stream.sync is not None and stamp in self._echoes:
                del self._echoes[stamp]
                self.stream.sync.add(stamp, ticks, received_ns)
                if self._burst > 0:
                    self._burst -= 1
                    self._echo_s = now_s
            case Response() if message.code is not None and self._wish() is not None:
                self._wish_s = math.inf
                self.version = self._wish() if message.code == 0 else self.version
            case Disconnect() | DisconnectByTimeout() if self._answered:
                self._answered = False
                self._retry_s, self._connect_s = _RETRY_S[0], now_s
            case _:
                # Remarks and refusals need no action: what was asked for is asked for again.
                return

    def _greet(self, info: ServerInfo, now_s: float) -> None:
        """Take in who the server is; after a silence its clock and its frame numbers begin anew."""
        same = self.info == info and self.state == "streaming"
        if not same and self.state == "streaming":
            spoken = f"NatNet {info.version[0]}.{info.version[1]}"
            self._tell("changed", f"{describe(info)} at {self.config.server} now streams with {spoken}.")
        self.info = info
        self._answered = True
        self._retry_s, self._connect_s = _RETRY_S[0], now_s + _ASK_AGAIN_S
        self._last_frame_s = now_s
        self._models_s = now_s
        if same:
            return
        self.version = info.version
        self._wish_s = now_s
        self.stream.begin(EchoSync(info.clock_hz) if info.clock_hz > 0 else None)
        self._burst = _BURST
        self._echo_s = now_s
        self._settled_by_s = now_s + _SETTLE_S
        if info.version > NEWEST or info.version < OLDEST:
            known = f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}"
            self._tell_once(
                "warning",
                f"{describe(info)} at {self.config.server} speaks NatNet {info.version[0]}.{info.version[1]}, "
                f"known are {known}. Only what is safe is decoded; set another version in Motive if poses are missing.",
            )

    def _name(self, models: ModelDef) -> None:
        named_before = bool(self.stream.streaming)
        changed = self.stream.name(models)
        self._models_s = None
        missing = self.stream.missing()
        if self.stream.crowded:
            self._tell_once(
                "warning",
                f"Motive streams more rigid bodies than can be recorded; the first {MOST_BODIES} are. "
                "Name those that you need in the rig file.",
            )
        if changed and named_before:
            lacking = f" {_listed(missing)} of the rig is not among them." if missing else ""
            self._tell("changed", f"Motive now streams {_listed(self.stream.streaming)}.{lacking}")

    def _tell_once(self, kind: str, text: str) -> None:
        if text not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(text)
            self._tell(kind, text)


def describe(info: ServerInfo | None) -> str:
    """Return name and version of the server's application, for example ``Motive 2.1``."""
    if info is None:
        return "A NatNet server"
    major, minor = info.sender.app_version[:2]
    return f"{info.sender.name or 'A nameless server'} {major}.{minor}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) if names else "no rigid bodies"
