"""What the frame-of-data message looks like in each protocol version."""

from dataclasses import dataclass
from functools import lru_cache
from struct import Struct

from devices.natnet.reader import Malformed
from devices.natnet.types import NEWEST, OLDEST, Version

I32 = Struct("<i")
VECTOR = Struct("<3f")
BODY_POSE = Struct("<i3f4f")
BODY = Struct("<i3f4ffh")
"""A rigid body from 3.0 on: id, position, quaternion, mean error, parameters."""
TICKS = Struct("<3Q")
PTP = Struct("<2I")
PARAMS = Struct("<h")
_MARKER_25 = Struct("<i3ff")
_MARKER_26 = Struct("<i3ffh")
_MARKER_3 = Struct("<i3ffhf")


@dataclass(frozen=True, slots=True)
class Layout:
    """What a protocol version has in its frames."""

    sized: bool
    assets: bool
    force_plates: bool
    devices: bool
    body_markers: bool
    params: bool
    ticks: bool
    ptp: bool
    """The pair belongs to this version."""
    ptp_possible: bool
    """Some servers send the pair already."""
    newer: bool
    """Newer than any version that we know."""
    body_size: int
    """Bytes of a rigid body, at least."""
    body_cost: int
    """What a rigid body is charged for: before 3.0 it is of varying size, and slow to read."""
    marker: Struct
    marker_fields: int
    stamp: Struct
    """Latency where there is one, time code, timestamp where there is one."""


@lru_cache(maxsize=64)
def layout_of(version: Version) -> Layout:
    """Return what frames of a version look like."""
    if version < OLDEST:
        raise Malformed(
            f"frame: NatNet {version[0]}.{version[1]} is older than {OLDEST[0]}.{OLDEST[1]}, "
            "the oldest that can be read"
        )
    latency = "f" if version < (3, 0) else ""
    timestamp = "" if version < (2, 6) else "f" if version < (2, 7) else "d"
    return Layout(
        sized=version >= (4, 1),
        assets=version >= (4, 1),
        force_plates=version >= (2, 9),
        devices=version >= (2, 11),
        body_markers=version < (3, 0),
        params=version >= (2, 6),
        ticks=version >= (3, 0),
        ptp=version >= (4, 1),
        ptp_possible=version >= (4, 0),
        newer=version > NEWEST,
        body_size=40 if version < (2, 6) else 42 if version < (3, 0) else 38,
        body_cost=4 if version < (3, 0) else 0,
        marker=_MARKER_25 if version < (2, 6) else _MARKER_26 if version < (3, 0) else _MARKER_3,
        marker_fields=5 if version < (2, 6) else 6 if version < (3, 0) else 7,
        stamp=Struct(f"<{latency}II{timestamp}"),
    )
