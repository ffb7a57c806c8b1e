"""What devices deliver: frozen values in SI units, stamped with the host clock in nanoseconds."""

from dataclasses import dataclass
from enum import IntEnum


class PoseState(IntEnum):
    """Whether a pose is a measurement, and if not, why."""

    MEASURED = 0
    UNTRACKED = 1
    """The device says that it lost the body."""
    FROZEN = 2
    """The values are those of an earlier frame: the device repeats its last pose."""
    INACCURATE = 3
    """The mean marker error is above the configured limit."""


@dataclass(frozen=True, slots=True)
class PoseSample:
    """One rigid body in one motion-capture frame, body-to-world."""

    t_ns: int
    """Host time of exposure where the device tells it, else of receipt."""
    body: str
    sequence: int
    """Frame number given by the device."""
    position: tuple[float, float, float]
    """Metres, in the world frame."""
    quaternion: tuple[float, float, float, float]
    """xyzw, unit."""
    mean_error: float
    """Mean marker error in metres."""
    state: PoseState
    received_ns: int
    """Host time at which the kernel received the datagram."""
    ticks: int
    """Device clock at mid-exposure; 0 where unknown."""


@dataclass(frozen=True, slots=True)
class WrenchSample:
    """One force/torque measurement in the sensor's frame."""

    t_ns: int
    sequence: int
    """The device's internal sample counter."""
    force: tuple[float, float, float]
    """Newtons."""
    torque: tuple[float, float, float]
    """Newton metres."""
    status: int
    """The device's status word, as received."""
    valid: bool
    """False where the status says that the values cannot be trusted (saturation, error)."""
    received_ns: int


@dataclass(frozen=True, slots=True)
class Press:
    """One press of the trigger, pedal or key."""

    t_ns: int
    source: str
    long: bool = False
    """A long press asks for a redo."""


@dataclass(frozen=True, slots=True)
class DeviceEvent:
    """Something about a device that the operator should know."""

    t_ns: int
    device: str
    """Name of the device in the rig, for example ``mocap``."""
    kind: str
    """``lost``, ``resumed``, ``connected``, ``changed``, ``warning``."""
    message: str
    """A whole sentence with its number and the next step."""
