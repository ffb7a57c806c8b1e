"""A planned movement: smooth channels on a fixed grid, from which the true tip pose follows at any time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from devices.sim.frames import Array, about, frames, rotations
from devices.sim.scene import Scene


@dataclass(frozen=True)
class Plan:
    """What the hand and the object do. The tip's pose is

    ``motion(link, q) · anchor · trans(place) · rot(turn) · Rz(about_bar) · Rx(about_screws) · seat``.
    """

    hz: float
    """Samples of the channels per second."""
    link: str
    """The link that the anchor is fixed to, or ``root``."""
    anchor: Array
    """(4, 4) in the world with all joints at zero: a bar, a dimple, a place in the air."""
    q: Mapping[str, Array | float]
    """Joint coordinates: (n,) for those that move."""
    place: Array
    """(n, 3) in the anchor's frame, metres."""
    turn: Array
    """(n, 3) rotation vectors in the anchor's frame."""
    about_bar: Array
    """(n,) radians about the anchor's z."""
    about_screws: Array
    """(n,) radians about the turned x."""
    seat: Array = field(default_factory=lambda: np.eye(4))
    """(4, 4) how the bar sits in the groove."""
    push: Array | None = None
    """(n, 6) force and torque of the object on the gripper at the tip, world axes; None is no contact."""
    hidden: tuple[tuple[float, float], ...] = ()
    """Times in seconds in which the cameras do not see the body."""
    info: Mapping[str, Any] = field(default_factory=dict)

    @property
    def duration(self) -> float:
        """Seconds."""
        return (len(self.about_bar) - 1) / self.hz

    @property
    def times(self) -> Array:
        """(n,) seconds of the channels' samples."""
        return np.arange(len(self.about_bar)) / self.hz

    def final(self) -> dict[str, float]:
        """Joint coordinates at the end."""
        return {name: float(np.atleast_1d(values)[-1]) for name, values in self.q.items()}

    def tip2world(self, scene: Scene, t: Array | None = None) -> Array:
        """True tip frames (m, 4, 4) at times (m,), held at the ends; of the whole grid if None.

        Channels are interpolated before they are composed, so that every pose obeys the joints exactly.
        """

        def at(channel: Array) -> Array:
            if t is None:
                return channel
            if channel.ndim == 1:
                return np.asarray(np.interp(t, self.times, channel))
            return np.stack([np.interp(t, self.times, column) for column in channel.T], axis=-1)

        q = {name: at(v) if isinstance(v, np.ndarray) else v for name, v in self.q.items()}
        result = scene.motion(self.link, q) @ self.anchor
        result = result @ frames(rotations(at(self.turn)), at(self.place))
        turned = about([0.0, 0.0, 1.0], at(self.about_bar)) @ about([1.0, 0.0, 0.0], at(self.about_screws))
        return np.asarray(result @ frames(turned) @ self.seat)
