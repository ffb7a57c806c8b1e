"""The messages of the NatNet protocol as typed, immutable values.

Lengths are metres, in the streaming server's world frame. What a protocol version does not carry keeps its
default: zero where the server did not tell. Frames and what comes by the hundred in them are named tuples because
these are built several times faster than frozen dataclasses.
"""

from dataclasses import dataclass
from typing import NamedTuple

from devices.natnet.descriptions import ModelDef
from devices.natnet.types import FourBytes, Quaternion, Vector, Version


class BodyMarker(NamedTuple):
    """A marker inside a rigid body of a frame (before 3.0; later it is part of the model definition)."""

    position: Vector
    label: int
    size: float


class RigidBody(NamedTuple):
    """Pose of one rigid body, body-to-world."""

    id: int
    position: Vector
    quaternion: Quaternion
    mean_error: float = 0.0
    """Mean marker error, metres."""
    params: int = 1
    """Bit 0: tracking valid. Frames before 2.6 do not say, and count as valid."""
    markers: tuple[BodyMarker, ...] = ()

    @property
    def tracking_valid(self) -> bool:
        """Whether the server tracked this body in this frame."""
        return bool(self.params & 1)


class LabeledMarker(NamedTuple):
    """One marker with its label."""

    id: int
    """The model's id in the high 16 bits, the marker's in the low ones."""
    position: Vector
    size: float = 0.0
    flags: int = 0
    residual: float = 0.0

    @property
    def model_id(self) -> int:
        """The rigid body or skeleton that this marker belongs to; 0 for none."""
        return (self.id >> 16) & 0xFFFF

    @property
    def marker_id(self) -> int:
        """Number of the marker within its model."""
        return self.id & 0xFFFF

    @property
    def occluded(self) -> bool:
        """Not seen in this frame."""
        return bool(self.flags & 1)

    @property
    def point_cloud_solved(self) -> bool:
        """Position from the cameras' rays."""
        return bool(self.flags & 2)

    @property
    def model_filled(self) -> bool:
        """Position filled in from the model."""
        return bool(self.flags & 4)


class MarkerSet(NamedTuple):
    """A named list of marker positions."""

    name: str
    markers: tuple[Vector, ...]


class Skeleton(NamedTuple):
    """The bones of one skeleton."""

    id: int
    rigid_bodies: tuple[RigidBody, ...]


class Asset(NamedTuple):
    """A trained marker set (from 4.1)."""

    id: int
    rigid_bodies: tuple[RigidBody, ...]
    markers: tuple[LabeledMarker, ...]


class AnalogDevice(NamedTuple):
    """Channels of a force plate or another analogue device, a few values per frame each."""

    id: int
    channels: tuple[tuple[float, ...], ...]


class Frame(NamedTuple):
    """One frame of motion-capture data."""

    number: int
    marker_sets: tuple[MarkerSet, ...] = ()
    other_markers: tuple[Vector, ...] = ()
    rigid_bodies: tuple[RigidBody, ...] = ()
    skeletons: tuple[Skeleton, ...] = ()
    assets: tuple[Asset, ...] = ()
    labeled_markers: tuple[LabeledMarker, ...] = ()
    force_plates: tuple[AnalogDevice, ...] = ()
    devices: tuple[AnalogDevice, ...] = ()
    latency: float = 0.0
    """Before 3.0 only; unit as the server sends it."""
    timecode: int = 0
    timecode_sub: int = 0
    timestamp: float = 0.0
    """Seconds since the server started, from 2.6."""
    mid_exposure_ticks: int = 0
    """Server clock at the middle of the exposure, from 3.0; real servers also send 0."""
    camera_data_received_ticks: int = 0
    transmit_ticks: int = 0
    ptp: tuple[int, int] | None = None
    """Precision-time seconds and fraction, from 4.1 (by some servers from 4.0)."""
    params: int = 0

    @property
    def recording(self) -> bool:
        """The server records a take."""
        return bool(self.params & 1)

    @property
    def models_changed(self) -> bool:
        """The model definitions must be asked for again."""
        return bool(self.params & 2)

    @property
    def edit_mode(self) -> bool:
        """The server plays a recording instead of live data."""
        return bool(self.params & 4)

    @property
    def bitstream_changed(self) -> bool:
        """The protocol version of the stream has changed."""
        return bool(self.params & 8)


class Sender(NamedTuple):
    """How a client or server names itself."""

    name: str
    app_version: FourBytes = (0, 0, 0, 0)
    natnet_version: FourBytes = (0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Connect:
    """A client asks for the server's name and stream."""

    sender: Sender | None = None
    subscribed_only: bool = False
    bitstream: FourBytes | None = None
    """Protocol version that the client asks for (unicast, from 4.0)."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """A server's answer to :class:`Connect`."""

    sender: Sender
    clock_hz: int = 0
    """Ticks per second of the server's clock, from 3.0; 0 where it did not tell."""
    data_port: int = 0
    multicast: bool = False
    group: FourBytes = (0, 0, 0, 0)

    @property
    def version(self) -> Version:
        """Protocol version of the stream."""
        return self.sender.natnet_version[:2]


@dataclass(frozen=True, slots=True)
class Request:
    """A command in words, for example ``Bitstream,4.1``."""

    command: str


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to a :class:`Request`: a number (4 bytes) or words."""

    payload: bytes = b""

    @property
    def code(self) -> int | None:
        """The number; 0 means success."""
        return int.from_bytes(self.payload, "little", signed=True) if len(self.payload) == 4 else None

    @property
    def text(self) -> str:
        """The words, empty if the answer is a number."""
        return "" if len(self.payload) == 4 else self.payload.split(b"\0")[0].decode("utf-8", "backslashreplace")


@dataclass(frozen=True, slots=True)
class MessageString:
    """A remark from the server."""

    text: str


@dataclass(frozen=True, slots=True)
class EchoRequest:
    """Asks for the server's clock."""

    stamp: int
    """The client's own stamp, returned unchanged."""


@dataclass(frozen=True, slots=True)
class EchoResponse:
    """The server's clock when it received the request."""

    stamp: int
    ticks: int


@dataclass(frozen=True, slots=True)
class Discovery:
    """A client looks for servers."""

    sender: Sender | None = None


@dataclass(frozen=True, slots=True)
class RequestModelDef:
    """A client asks for the model definitions."""


@dataclass(frozen=True, slots=True)
class RequestFrame:
    """A client asks for one frame."""


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """A unicast client says that it still listens."""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """The other side leaves."""


@dataclass(frozen=True, slots=True)
class DisconnectByTimeout:
    """The server dropped a client that was silent."""


@dataclass(frozen=True, slots=True)
class Unrecognized:
    """The server did not understand the last message."""

    payload: bytes = b""


Message = (
    Connect
    | ServerInfo
    | Request
    | Response
    | RequestModelDef
    | ModelDef
    | RequestFrame
    | Frame
    | MessageString
    | Disconnect
    | KeepAlive
    | DisconnectByTimeout
    | EchoRequest
    | EchoResponse
    | Discovery
    | Unrecognized
)
