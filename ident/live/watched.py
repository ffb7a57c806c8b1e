"""What a look needs of the devices, be they live or those of a session that is played again."""

from typing import Protocol

from devices.buffer import PoseBuffer, WrenchBuffer
from devices.clock import HostClock


class Watched(Protocol):
    """Buffers of the devices, and the clock that they are timed by."""

    @property
    def clock(self) -> HostClock:
        """Tells the present."""

    @property
    def body(self) -> PoseBuffer:
        """Poses of the gripper."""

    @property
    def reference(self) -> PoseBuffer | None:
        """Poses of the body that is fixed to the object, where one is tracked."""

    @property
    def wrenches(self) -> WrenchBuffer | None:
        """Loads, where there is a sensor."""
