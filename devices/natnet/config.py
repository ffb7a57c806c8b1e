"""What a NatNet driver needs to know, and what it tells about itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from devices.natnet.types import OLDEST, Version

MULTICAST_GROUP = "239.255.42.99"
"""The group that Motive uses unless told otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NatNetConfig:
    """Where the server is and which rigid bodies to record."""

    server: str = "127.0.0.1"
    command_port: int = 1510
    data_port: int = 1511
    """For multicast servers before 3.0; later ones tell it themselves."""
    multicast: str | None = None
    """Group to listen to; None: as the server says, unicast if it says nothing."""
    interface: str = ""
    """Address of the network card to use; empty: the one that leads to the server."""
    bodies: tuple[str, ...] = ()
    """Names of the rigid bodies to record; empty: all that are streamed."""
    version: Version | None = None
    """Protocol version to ask a unicast server from 4.0 on for; None: as the server likes."""
    max_mean_error_m: float = 0.002
    """Poses with a larger mean marker error are marked inaccurate."""
    capacity: int = 43_200
    """Poses kept per body: two minutes at 360 Hz."""
    driver: Literal["natnet", "natnetclient"] = "natnet"
    """``natnetclient``: frames are decoded by the library of that name, for Motive 1.x (NatNet 2.x)."""

    def __post_init__(self) -> None:
        problems = [
            f"{name} {port} is not a port (1 to 65535)"
            for name, port in (("command_port", self.command_port), ("data_port", self.data_port))
            if not 0 < port < 65536
        ]
        if self.version is not None and self.version < OLDEST:
            problems.append(f"version {self.version} is older than {OLDEST}")
        if not self.max_mean_error_m > 0.0:
            problems.append(f"max_mean_error_m is {self.max_mean_error_m}, a positive length expected")
        if self.capacity < 2:
            problems.append(f"capacity is {self.capacity}, at least 2 expected")
        if self.driver not in ("natnet", "natnetclient"):
            problems.append(f'driver is {self.driver!r}, "natnet" or "natnetclient" expected')
        if problems:
            raise ValueError("NatNetConfig: " + "; ".join(problems))


@dataclass(frozen=True, slots=True)
class BodyHealth:
    """How one rigid body is doing."""

    rate_hz: float
    """Frames per second of host time, measured or not."""
    measured: int
    untracked: int
    frozen: int
    inaccurate: int


@dataclass(frozen=True, slots=True)
class NatNetHealth:
    """How the stream is doing; counts are since the start."""

    state: Literal["stopped", "connecting", "streaming", "lost"] = "stopped"
    server: str = ""
    """Name and version of the streaming application, for example ``Motive 2.1``."""
    version: Version | None = None
    """Protocol version of the stream."""
    multicast: bool = False
    rate_hz: float = 0.0
    """Frames per second of host time."""
    frames: int = 0
    lost_frames: int = 0
    """By the frame numbers; a late frame is taken off again."""
    duplicates: int = 0
    out_of_order: int = 0
    restarts: int = 0
    """How often the frame numbers began anew."""
    malformed: int = 0
    last_malformed: str = ""
    foreign: int = 0
    """Datagrams from other addresses than the server's, ignored."""
    unnamed: int = 0
    """Poses of rigid bodies that the model definitions do not name, ignored."""
    kernel_drops: int = 0
    """Datagrams that the kernel dropped because we read too slowly."""
    silences: int = 0
    """How often the stream was lost."""
    time_source: Literal["", "exposure", "receipt"] = ""
    """What sample times rest on: the server's exposure ticks, or the lower envelope of receive times."""
    latency_median_ms: float = float("nan")
    """From exposure (or from the envelope) to receipt, last few hundred frames, milliseconds of host time."""
    latency_max_ms: float = float("nan")
    clock_hz: int = 0
    clock_offset_ns: int = 0
    """Host time at tick 0 of the server's clock."""
    clock_drift_ppm: float = 0.0
    round_trip_ms: float = float("nan")
    """Shortest echo round trip."""
    exchanges: int = 0
    clock_steps: int = 0
    recording: bool = False
    edit_mode: bool = False
    bodies: Mapping[str, BodyHealth] = field(default_factory=dict)
    failure: str = ""
    """Why the driver stopped by itself, if it did."""
