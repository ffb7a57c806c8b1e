"""Looks at the devices and at the running take, beside everything else: nothing waits for it."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from subprocess import Popen
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from devices.clock import HostClock
from devices.errors import Stale
from devices.samples import PoseState
from fitting.se3 import Array, rotation_from_quaternion
from ident.live.fit import live_fit
from ident.live.following import Following, Track
from ident.live.process import FitProcess
from ident.live.sketch import thinned
from ident.live.status import DeviceLive, LiveFit, LiveStatus, Load, TakeLive
from ident.live.watched import Watched
from ident.preparing import Preparation
from ident.rig import STALE_S
from ident.takes import TakeData
from ident.weighing import Weight, weight_of, without_gripper
from ident.workflow.quality import QualityLimits, refused
from ident.workflow.state import PLACE, WEIGHT, State, Take, step_of

PERIOD_S = 0.07
"""Real seconds between the beginnings of two looks: more than 10 Hz, with some to spare for comparing the types."""
BREATH_S = 0.01
"""Real seconds between two looks at the least."""

FOREVER_NS = 10**18
SEEN_WINDOW_NS = 1_000_000_000

_STATES = {
    PoseState.MEASURED: "tracking",
    PoseState.UNTRACKED: "not tracked",
    PoseState.FROZEN: "frozen",
    PoseState.INACCURATE: "inaccurate",
}


class Source(Protocol):
    """What is watched besides the devices: the runner, or a session that is played again."""

    @property
    def state(self) -> State:
        """Present state of the measurement."""

    @property
    def data(self) -> Mapping[int, TakeData]:
        """Finished takes."""


class Live:
    """A thread that follows the running take. ``status()`` is cheap and may be called from any thread."""

    def __init__(
        self,
        rig: Watched,
        source: Source,
        limits: QualityLimits,
        start_of: Callable[[Take], int | None] = lambda take: take.t0_ns,
        fits: Preparation | None = None,
    ) -> None:
        """``start_of`` tells when the movement of a take starts (host time); None where it has not.

        fits: whether they can begin; None where they can.
        """
        self._rig = rig
        self._start_of = start_of
        self._clock: HostClock = rig.clock
        self._source = source
        self._limits = limits
        self._fits = fits
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="live", daemon=True)
        self._track: Track | None = None
        self._fitter = FitProcess(limits, self._stopping.is_set)
        self._others: tuple[State | None, dict[int, TakeData]] = (None, {})
        self._weight: tuple[object, Weight | None] = (None, None)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._fitter.kill()
        self._thread.join()

    @property
    def note(self) -> str:
        """Why there is no fit yet, or why it is renewed more seldom than usual; empty where neither is so."""
        return self._fits.note if self._fits is not None and not self._ready() else self._fitter.note

    def _ready(self) -> bool:
        return self._fits is None or self._fits.ready

    @property
    def fitting(self) -> "Popen[bytes] | None":
        """The process that fits, while there is one."""
        return self._fitter.child

    @property
    def track(self) -> Track | None:
        """The running take, or the last one until the next begins."""
        return self._track

    def status(self) -> LiveStatus:
        """Look at the devices and at the last fit."""
        now = self._clock.now_ns()
        load, ft = self._ft(now)
        return LiveStatus(mocap=self._mocap(now), ft=ft, load=load, take=self._take(now))

    def _mocap(self, now: int) -> DeviceLive:
        body = self._rig.body
        try:
            sample = body.latest(now, FOREVER_NS)
        except Stale:
            return DeviceLive(0.0, "silent", float("inf"))
        age = max(0.0, (now - sample.t_ns) * 1e-9)
        return DeviceLive(body.rate(now), _STATES[sample.state] if age < STALE_S else "silent", age)

    def _ft(self, now: int) -> tuple[Load, DeviceLive | None]:
        wrenches = self._rig.wrenches
        if wrenches is None:
            return Load(), None
        try:
            sample = wrenches.latest(now, FOREVER_NS)
        except Stale:
            return Load(), DeviceLive(0.0, "silent", float("inf"))
        age = max(0.0, (now - sample.t_ns) * 1e-9)
        word = "silent" if age >= STALE_S else ("streaming" if sample.valid else "not valid")
        wrench, net = self._without_gripper(now, np.array([*sample.force, *sample.torque]))
        force, torque = (float(np.linalg.norm(v)) for v in (wrench[:3], wrench[3:]))
        return Load(force, torque, net), DeviceLive(wrenches.rate(now), word, age)

    def _without_gripper(self, now: int, wrench: Array) -> tuple[Array, bool]:
        """A wrench without the weight of the gripper, and whether that could be taken out."""
        record = self._source.state.step(WEIGHT).record
        if record is None:
            return wrench, False
        if self._weight[0] is not record:
            self._weight = record, weight_of(record)
        weight = self._weight[1]
        try:
            pose = self._rig.body.latest(now, int(STALE_S * 1e9))
        except Stale:
            return wrench, False
        if weight is None or pose.state is not PoseState.MEASURED:
            return wrench, False
        return without_gripper(wrench, rotation_from_quaternion(np.array(pose.quaternion)), weight), True

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
        try:
            self._follow()
        finally:
            self._fitter.close()

    def _follow(self) -> None:
        following: Following | None = None
        begun, wait = False, PERIOD_S
        while not self._stopping.wait(wait):
            started = time.monotonic()
            if not begun and self._ready():
                # Before, it would compile what is being compiled already.
                begun = True
                self._fitter.start()
            state = self._source.state
            take = state.recording
            if take is None:
                following, wait = None, PERIOD_S
                continue
            if following is None or following.take.id != take.id:
                following = self._begin_to_follow(take)
            if following is None:
                wait = PERIOD_S
                continue
            track = following.look(self._clock.now_ns())
            fit, here = self._fit(state, take, track, following.known_type())
            following.compared(fit)
            self._track = replace(track, fit=fit)
            spent = time.monotonic() - started
            # A fit in this process may have a third of the time: receiving, recording and keys come first.
            wait = max(PERIOD_S - spent, 2.0 * spent if here else BREATH_S)

    def _begin_to_follow(self, take: Take) -> Following | None:
        """A simulated hand has to get there first: what it does on the way is no part of the movement."""
        start = self._start_of(take)
        return None if start is None or start > self._clock.now_ns() else Following(take, self._rig, start)

    def _fit(self, state: State, take: Take, track: Track, looks_like: str | None) -> tuple[LiveFit, bool]:
        """The fit, and whether this process had to compute it."""
        running = TakeData(track.t_ns, track.body, track.samples, track.longest_loss_s, track.loads)
        if running.loads is not None:
            # Holds are found in a few milliseconds; loads need not go through a pipe for that.
            return live_fit(state, take, running, {}, self._limits), True
        if not self._ready():
            return LiveFit("", refused("The fits are being compiled."), samples=running.measured), False
        if self._others[0] is not state:
            node = take.target.node
            same = (t for t in state.takes if node and t.target.node == node and t.used and t.t1_ns)
            self._others = state, {t.id: thinned(self._source.data[t.id]) for t in same if t.id in self._source.data}
        fit = self._fitter.fit(state, take, running, self._others[1], looks_like)
        if fit is not None:
            return fit, False
        return live_fit(state, take, running, self._others[1], self._limits, looks_like), True


def _moves(state: State, take: Take) -> bool:
    if not take.target.node:
        return step_of(take.target) != PLACE
    if take.target.purpose != "movement":
        return False
    return state.plan.node(take.target.node).kind not in ("fixed", "handle0")
