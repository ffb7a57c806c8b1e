"""Looks at the devices and at the running take, beside everything else: nothing waits for it."""

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from devices.clock import HostClock
from devices.errors import Stale
from devices.samples import PoseState
from fitting.se3 import Array
from ident.joints.problems import ModelError
from ident.live.fit import live_fit
from ident.live.sketch import Sketch, thinned
from ident.live.status import DeviceLive, LiveFit, LiveStatus, TakeLive
from ident.rig import STALE_S, Rig
from ident.takes import Ints, TakeData, take_data
from ident.workflow.quality import QualityLimits, refused
from ident.workflow.state import State, Take

PERIOD_S = 0.07
"""Real seconds between the beginnings of two looks: more than 10 Hz as long as a fit takes less than 45 ms."""

COMPARE_S = 1.0
"""Real seconds between two comparisons of the joint types."""

FOREVER_NS = 10**18
SEEN_WINDOW_NS = 1_000_000_000

REST_WINDOW_NS = 300_000_000
REST_M = 0.003
"""Movement (m) within the rest window that still counts as rest; hands tremble by a millimetre."""
MOVED_M = 0.02
"""Movement (m) after which a take counts as begun."""

_STATES = {
    PoseState.MEASURED: "tracking",
    PoseState.UNTRACKED: "not tracked",
    PoseState.FROZEN: "frozen",
    PoseState.INACCURATE: "inaccurate",
}


class Source(Protocol):
    """What is watched besides the devices: the runner."""

    @property
    def state(self) -> State:
        """Present state of the measurement."""

    @property
    def data(self) -> Mapping[int, TakeData]:
        """Finished takes."""


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


class Live:
    """A thread that follows the running take. ``status()`` is cheap and may be called from any thread."""

    def __init__(self, rig: Rig, source: Source, limits: QualityLimits) -> None:
        self._rig = rig
        self._clock: HostClock = rig.clock
        self._source = source
        self._limits = limits
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live", daemon=True)
        self._track: Track | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()

    @property
    def track(self) -> Track | None:
        """The running take, or the last one until the next begins."""
        return self._track

    def status(self) -> LiveStatus:
        """Look at the devices and at the last fit."""
        now = self._clock.now_ns()
        force, torque, ft = self._ft(now)
        return LiveStatus(mocap=self._mocap(now), ft=ft, force_n=force, torque_nm=torque, take=self._take(now))

    def _mocap(self, now: int) -> DeviceLive:
        body = self._rig.body
        try:
            sample = body.latest(now, FOREVER_NS)
        except Stale:
            return DeviceLive(0.0, "silent", float("inf"))
        age = max(0.0, (now - sample.t_ns) * 1e-9)
        return DeviceLive(body.rate(now), _STATES[sample.state] if age < STALE_S else "silent", age)

    def _ft(self, now: int) -> tuple[float, float, DeviceLive | None]:
        wrenches = self._rig.wrenches
        if wrenches is None:
            return 0.0, 0.0, None
        try:
            sample = wrenches.latest(now, FOREVER_NS)
        except Stale:
            return 0.0, 0.0, DeviceLive(0.0, "silent", float("inf"))
        age = max(0.0, (now - sample.t_ns) * 1e-9)
        word = "silent" if age >= STALE_S else ("streaming" if sample.valid else "not valid")
        force, torque = (float(np.linalg.norm(v)) for v in (sample.force, sample.torque))
        return force, torque, DeviceLive(wrenches.rate(now), word, age)

    def _take(self, now: int) -> TakeLive | None:
        take = self._source.state.recording
        if take is None:
            return None
        moves = _moves(self._source.state, take)
        seconds = max(0.0, (now - take.t0_ns) * 1e-9)
        track = self._track
        if track is None or track.take.id != take.id:
            return TakeLive(take.id, seconds, 0, 0, moves=moves)
        return TakeLive(
            take.id,
            seconds,
            track.samples,
            track.measured,
            unseen_s=self._unseen_s(now, track),
            resting_s=track.resting_s,
            moves=moves,
            fit=track.fit,
        )

    def _unseen_s(self, now: int, track: Track) -> float:
        """Look at the buffer itself: the track may be as old as the last fit took."""
        window = self._rig.body.window(now - SEEN_WINDOW_NS, now)
        seen = window.t_ns[window.measured]
        last = int(seen[-1]) if len(seen) else track.last_seen_ns
        return max(0.0, (now - last) * 1e-9)

    # The live thread.

    def _run(self) -> None:
        following: _Following | None = None
        spent = 0.0
        # A fit that takes long on a busy machine may have half of the time: receiving and recording come first.
        while not self._stopping.wait(max(PERIOD_S - spent, spent)):
            started = time.monotonic()
            state = self._source.state
            take = state.recording
            if take is None:
                following, spent = None, 0.0
                continue
            if following is None or following.take.id != take.id:
                following = _Following(take, self._rig)
            track = following.look(self._clock.now_ns())
            fit = self._fit(state, take, track, following.known_type())
            following.compared(fit)
            self._track = replace(track, fit=fit)
            spent = time.monotonic() - started

    def _fit(self, state: State, take: Take, track: Track, looks_like: str | None) -> LiveFit:
        running = TakeData(track.t_ns, track.body, track.samples, track.longest_loss_s)
        others = {t.id: thinned(self._source.data[t.id]) for t in state.used_takes(take.target)}
        try:
            return live_fit(state, take, running, others, self._limits, looks_like)
        except (ArithmeticError, ValueError, KeyError, ModelError) as error:
            # A number that is shown must not end the take that it is about.
            return LiveFit("", refused(f"No fit yet: {error}."), samples=track.measured)


class _Following:
    """Collects one running take piece by piece, so that a look costs the same however long it lasts."""

    def __init__(self, take: Take, rig: Rig) -> None:
        self.take = take
        self._rig = rig
        self._poses_until = take.t0_ns - 1
        self._wrenches_until = take.t0_ns - 1
        self._sketch = Sketch()
        self._wrenches = Sketch((6,))
        self._samples = 0
        self._last_seen = take.t0_ns
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
        )

    def _take_in_poses(self, now: int) -> None:
        start = self._poses_until + 1
        window = self._rig.body.window(start, now)
        if not len(window):
            return
        reference = self._rig.reference
        piece = take_data(window, start, now, None if reference is None else reference.window(start, now))
        self._poses_until = int(window.t_ns[-1])
        self._samples += piece.samples
        if not piece.measured:
            return
        steps = np.diff(np.concatenate([[self._last_seen], piece.t_ns]))
        self._longest_loss_s = max(self._longest_loss_s, float(steps.max()) * 1e-9)
        self._last_seen = int(piece.t_ns[-1])
        self._sketch.feed(piece.t_ns, piece.poses)
        self._notice_rest(piece.poses[:, :3, 3], now)

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


def _moves(state: State, take: Take) -> bool:
    if not take.target.node:
        return True
    if take.target.purpose != "movement":
        return False
    return state.plan.node(take.target.node).kind not in ("fixed", "handle0")
