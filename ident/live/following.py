"""Follows one running take: collects what comes from the devices, in bounded size."""

import math
import time
from dataclasses import dataclass

import numpy as np

from devices.buffer import PoseWindow
from fitting.se3 import Array
from ident.live.sketch import Sketch
from ident.live.status import LiveFit
from ident.live.watched import Watched
from ident.takes import Ints, TakeData, take_data
from ident.workflow.state import WEIGHT, Take, step_of

COMPARE_S = 1.0
"""Real seconds between two comparisons of the joint types."""

REST_WINDOW_NS = 300_000_000
REST_M = 0.003
"""Movement (m) within the rest window that still counts as rest; hands tremble by a millimetre."""
ENOUGH_FOR_HOLDS = 3000
"""Poses of a sketch in which holds of half a second are found: every 20 ms in a minute."""
MOVED_M = 0.02
"""Movement (m) after which a take counts as begun."""


@dataclass(frozen=True, eq=False)
class Track:
    """The running take as it was at the last look, thinned."""

    take: Take
    t_ns: Ints
    """(n,) host time."""
    body: Array
    """(n, 4, 4) poses of the tracked body."""
    wrench_t_ns: Ints
    wrench: Array
    """(m, 6) newtons and newton metres, in the sensor's frame."""
    samples: int
    measured: int
    longest_loss_s: float
    resting_s: float
    last_seen_ns: int
    fit: LiveFit | None = None
    loads: Array | None = None
    """(n, 6) the load at each pose, in a take about the load."""


class Following:
    """Collects one running take piece by piece, so that a look costs the same however long it lasts."""

    def __init__(self, take: Take, rig: Watched, start_ns: int) -> None:
        self.take = take
        self._rig = rig
        self._poses_until = start_ns - 1
        self._wrenches_until = start_ns - 1
        weighing = step_of(take.target) == WEIGHT and rig.wrenches is not None
        self._sketch = Sketch(capacity=ENOUGH_FOR_HOLDS) if weighing else Sketch()
        self._loads = Sketch((6,), ENOUGH_FOR_HOLDS) if weighing else None
        self._wrenches = Sketch((6,))
        self._samples = 0
        self._last_seen = start_ns
        self._longest_loss_s = 0.0
        self._first: Array | None = None
        self._moved = False
        self._rest_since: int | None = None
        self._compared_s = -math.inf
        self._looks_like: str | None = None

    def known_type(self) -> str | None:
        """The joint type that was found a moment ago; None when it is time to compare them again."""
        return self._looks_like if time.monotonic() - self._compared_s < COMPARE_S else None

    def compared(self, fit: LiveFit) -> None:
        """Remember what the take looks like."""
        if self.known_type() is None:
            self._compared_s, self._looks_like = time.monotonic(), fit.looks_like

    def look(self, now: int) -> Track:
        """Take in what came since the last look."""
        self._take_in_poses(now)
        self._take_in_wrenches(now)
        t_ns, body = self._sketch.columns()
        wrench_t_ns, wrench = self._wrenches.columns()
        return Track(
            take=self.take,
            t_ns=t_ns,
            body=body,
            wrench_t_ns=wrench_t_ns,
            wrench=wrench,
            samples=self._samples,
            measured=self._sketch.seen,
            longest_loss_s=max(self._longest_loss_s, (now - self._last_seen) * 1e-9),
            resting_s=0.0 if self._rest_since is None else (now - self._rest_since) * 1e-9,
            last_seen_ns=self._last_seen,
            loads=None if self._loads is None else self._loads.columns()[1],
        )

    def _take_in_poses(self, now: int) -> None:
        start = self._poses_until + 1
        window = self._rig.body.window(start, now)
        if not len(window):
            return
        piece = self._piece(window, start, now)
        self._poses_until = int(window.t_ns[-1])
        self._samples += piece.samples
        if not piece.measured:
            return
        steps = np.diff(np.concatenate([[self._last_seen], piece.t_ns]))
        self._longest_loss_s = max(self._longest_loss_s, float(steps.max()) * 1e-9)
        self._last_seen = int(piece.t_ns[-1])
        self._sketch.feed(piece.t_ns, piece.poses)
        if self._loads is not None and piece.loads is not None:
            self._loads.feed(piece.t_ns, piece.loads)
        self._notice_rest(piece.poses[:, :3, 3], now)

    def _piece(self, window: PoseWindow, start: int, now: int) -> TakeData:
        if self._loads is not None:
            return take_data(window, start, now, wrenches=self._rig.wrenches)
        reference = self._rig.reference
        return take_data(window, start, now, None if reference is None else reference.window(start, now))

    def _notice_rest(self, positions: Array, now: int) -> None:
        if self._first is None:
            self._first = positions[0]
        self._moved |= bool((np.linalg.norm(positions - self._first, axis=1) > MOVED_M).any())
        recent = self._rig.body.window(now - REST_WINDOW_NS, now)
        still = recent.positions[recent.measured]
        resting = self._moved and len(still) > 2 and float(np.ptp(still, axis=0).max()) < REST_M
        if not resting:
            self._rest_since = None
        elif self._rest_since is None:
            self._rest_since = now

    def _take_in_wrenches(self, now: int) -> None:
        wrenches = self._rig.wrenches
        if wrenches is None:
            return
        window = wrenches.window(self._wrenches_until + 1, now)
        if not len(window):
            return
        self._wrenches_until = int(window.t_ns[-1])
        self._wrenches.feed(window.t_ns, window.wrench)
