"""What the server streams, in its own words: the descriptions inside the model-definition message."""

from dataclasses import dataclass
from typing import NamedTuple

from devices.natnet.types import Quaternion, Vector


@dataclass(frozen=True, slots=True)
class MarkerSetDescription:
    """Names of the markers of a set."""

    name: str
    markers: tuple[str, ...]


class MarkerPlace(NamedTuple):
    """Where a marker sits in its rigid body (from 3.0)."""

    position: Vector
    label: int
    name: str = ""
    """From 4.0."""


@dataclass(frozen=True, slots=True)
class RigidBodyDescription:
    """Name and id of a rigid body."""

    name: str
    id: int
    parent: int = -1
    offset: Vector = (0.0, 0.0, 0.0)
    """To the parent, metres."""
    rotation: Quaternion = (0.0, 0.0, 0.0, 1.0)
    """To the parent, xyzw, from 4.2."""
    markers: tuple[MarkerPlace, ...] = ()


@dataclass(frozen=True, slots=True)
class SkeletonDescription:
    """Name and bones of a skeleton."""

    name: str
    id: int
    rigid_bodies: tuple[RigidBodyDescription, ...]


@dataclass(frozen=True, slots=True)
class ForcePlateDescription:
    """Geometry and channels of a force plate (from 3.0)."""

    id: int
    serial: str
    width: float
    length: float
    origin: Vector
    calibration: tuple[float, ...]
    """12×12 matrix, row by row."""
    corners: tuple[float, ...]
    """Four corners, 12 values."""
    plate_type: int
    channel_type: int
    channels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DeviceDescription:
    """Name and channels of another analogue device (from 3.0)."""

    id: int
    name: str
    serial: str
    device_type: int
    channel_type: int
    channels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CameraDescription:
    """Where a camera stands, camera-to-world."""

    name: str
    position: Vector
    quaternion: Quaternion


class AssetMarkerDescription(NamedTuple):
    """A marker of a trained marker set."""

    name: str
    id: int
    position: Vector
    size: float
    params: int


@dataclass(frozen=True, slots=True)
class AssetDescription:
    """Name and parts of a trained marker set (from 4.1)."""

    name: str
    asset_type: int
    id: int
    rigid_bodies: tuple[RigidBodyDescription, ...]
    markers: tuple[AssetMarkerDescription, ...]


@dataclass(frozen=True, slots=True)
class UnknownDescription:
    """A description that could not be read, kept as bytes."""

    kind: int
    data: bytes


Description = (
    MarkerSetDescription
    | RigidBodyDescription
    | SkeletonDescription
    | ForcePlateDescription
    | DeviceDescription
    | CameraDescription
    | AssetDescription
    | UnknownDescription
)


@dataclass(frozen=True, slots=True)
class ModelDef:
    """What the server streams: names, ids, geometry."""

    descriptions: tuple[Description, ...]
    unread: int = 0
    """Descriptions after one of unknown kind in a version that does not tell their size."""
