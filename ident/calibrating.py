"""Calibrating a rig step by step: takes with live advice, results into the store, everything into a session."""

import queue
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from calibration import (
    CalibrationFailure,
    CalibrationStore,
    Hold,
    Load,
    ProbedPoint,
    RigIdentity,
    SensorAlignment,
    Tip,
    TipProgress,
    coverage,
    pivoting_progress,
    tip_by_pivoting,
    tip_by_two_rotations,
    two_rotations_progress,
)
from devices.clock import HostClock
from devices.sim import SimulatedRig
from fitting.se3 import Array
from ident.errors import IdentError
from ident.output import prepare_folder
from ident.placing import ENOUGH_POSES, probed
from ident.rig import Listeners, Rig, describe
from ident.rigs import open_rig_config
from ident.simulated import TOUCHED
from ident.takes import take_data
from ident.weighing import holds_in, weigh
from sessions import Recorder, Take, new_session_path

LOOK_S = 0.5
"""Real seconds between two looks at a take that is running."""

Advice = tuple[bool, str]
"""Whether the take is good enough, and what to tell the operator."""


@dataclass
class Bench:
    """Where takes for calibration are made: a rig, a session, and somebody who answers."""

    rig: Rig
    recorder: Recorder
    sim: SimulatedRig | None = None
    out: TextIO = sys.stdout
    source: TextIO = sys.stdin
    takes: int = 0
    _lines: "queue.SimpleQueue[str]" = field(default_factory=queue.SimpleQueue)

    def __post_init__(self) -> None:
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def take(self, name: str, instruction: str, movement: Mapping[str, Any], look: Callable[[int], Advice]) -> Array:
        """Record one movement, saying what is still missing, and return its poses (n, 4, 4) body-to-world.

        It ends when the operator says so, or by itself when ``look`` (given the start) finds it good enough.
        """
        self._say(f"\n{instruction}")
        ended = threading.Event()
        if self.sim is None:
            self._say("Enter starts, and stops.")
            self._wait_for_enter(None)
        t0_ns = self.rig.clock.now_ns()
        if self.sim is not None:
            threading.Thread(target=self._perform, args=(dict(movement), ended), daemon=True).start()
        self._watch(t0_ns, look, ended)
        t1_ns = self.rig.clock.now_ns()
        self.takes += 1
        self.recorder.take(Take(self.takes, name, "calibration", t0_ns, t1_ns))
        window = self.rig.body.window(t0_ns, t1_ns)
        return np.asarray(window.poses()[window.measured])

    def poses_since(self, t0_ns: int) -> Array:
        """Measured poses (n, 4, 4) body-to-world since a host time."""
        window = self.rig.body.window(t0_ns, self.rig.clock.now_ns())
        return np.asarray(window.poses()[window.measured])

    def holds_since(self, t0_ns: int) -> tuple[Hold, ...]:
        """Held orientations since a host time, with the wrench of each."""
        wrenches = self.rig.wrenches
        if wrenches is None:
            raise IdentError("The rig has no force/torque sensor; add [ft] to the rig file.")
        now_ns = self.rig.clock.now_ns()
        return holds_in(take_data(self.rig.body.window(t0_ns, now_ns), t0_ns, now_ns, wrenches=wrenches))

    def _perform(self, movement: dict[str, Any], ended: threading.Event) -> None:
        if self.sim is not None:
            self.sim.perform(movement)
        ended.set()

    def _watch(self, t0_ns: int, look: Callable[[int], Advice], ended: threading.Event) -> None:
        told = ""
        while not ended.is_set():
            if self._wait_for_enter(LOOK_S):
                return
            done, advice = look(t0_ns)
            if advice != told:
                self._say(f"  {advice}")
                told = advice
            if done and self.sim is None:
                return

    def _wait_for_enter(self, timeout_s: float | None) -> bool:
        if self.sim is not None:
            time.sleep(timeout_s or 0.0)
            return False
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            return False
        if line == "":
            raise IdentError("The input ended before the calibration was done; what was recorded is kept.")
        return True

    def _read(self) -> None:
        while True:
            line = self.source.readline()
            self._lines.put(line)
            if not line:
                return

    def _say(self, text: str) -> None:
        print(text, file=self.out, flush=True)


def rig_identity(rig: Rig) -> RigIdentity:
    """What a calibration of this rig depends on."""
    known = rig.sensor_calibration()
    serial = known.serial if known is not None else ""
    return RigIdentity(
        body=rig.config.mocap.body,
        serials={"ft": serial} if serial else {},
        markers=rig.mocap.markers(rig.config.mocap.body),
    )


@contextmanager
def open_bench(rig: str, purpose: str, session: Path | None) -> Iterator[Bench]:
    """A rig with a session for its takes; afterwards it says where they are."""
    path = session or new_session_path(purpose, datetime.now().astimezone())
    prepare_folder(path.parent)
    clock = HostClock()
    with (
        open_rig_config(rig) as (config, sim),
        Recorder(path, metadata={"purpose": purpose}, now_ns=clock.now_ns) as recorder,
    ):
        listeners = Listeners(
            datagram=recorder.datagram,
            poses=recorder.poses,
            wrenches=recorder.wrench_columns,
            event=recorder.device_event,
        )
        with Rig(config, clock, listeners) as opened:
            recorder.document("rig", describe(opened))
            yield Bench(opened, recorder, sim)
    print(f"The takes are in {path}")


def stored_tip(bench: Bench, store: CalibrationStore) -> Tip:
    """The stored tip of this rig; an error that says how to get one where there is none."""
    found = store.find("tip", rig_identity(bench.rig))
    if isinstance(found, CalibrationFailure):
        raise IdentError(found.reason)
    tip = found.calibration()
    if not isinstance(tip, Tip):
        raise IdentError(
            f"The stored calibration of {found.created:%Y-%m-%d %H:%M} is no tip. Calibrate the tip again."
        )
    return tip


def probe_points(bench: Bench, tip: Tip, count: int, marks: Array | None) -> list[ProbedPoint] | CalibrationFailure:
    """Touch points one after the other; the simulated operator touches places around the calibration bar."""
    points: list[ProbedPoint] = []
    simulated = np.array(TOUCHED) if marks is None else np.array(TOUCHED[0]) + marks
    for index in range(count):
        poses = bench.take(
            f"point {index + 1}",
            f"Rest the tip on point {index + 1} of {count} and hold it there for a second.",
            {"kind": "probe", "point": simulated[index].tolist()},
            lambda t0_ns: (len(bench.poses_since(t0_ns)) > ENOUGH_POSES, "Hold it."),
        )
        point = probed(poses, tip)
        if isinstance(point, CalibrationFailure):
            return point
        points.append(point)
    return points


def calibrate_tip(bench: Bench, method: str) -> Tip | CalibrationFailure:
    """Find the tip by two rotations on a bar, or by pivoting in a dimple."""
    if method == "pivoting":
        poses = bench.take(
            "pivoting",
            "Rest the tip in a dimple. Tilt the gripper to all four sides by 20° and more, and turn it.",
            {"kind": "pivot"},
            lambda t0_ns: _advice(pivoting_progress(bench.poses_since(t0_ns))),
        )
        return tip_by_pivoting(poses)
    screws = bench.take(
        "about_screws",
        "Clamp the gripper on a fixed bar. Turn it about its clamping screws, there and back, as far as it goes.",
        {"kind": "about_screws"},
        lambda t0_ns: _turn_advice(bench.poses_since(t0_ns), None),
    )
    handle = bench.take(
        "about_handle",
        "Stay on the same bar. Turn the gripper about the bar's own axis, there and back.",
        {"kind": "about_handle"},
        lambda t0_ns: _turn_advice(screws, bench.poses_since(t0_ns)),
    )
    return tip_by_two_rotations(screws, handle)


def calibrate_weight(bench: Bench) -> tuple[SensorAlignment, Load] | CalibrationFailure:
    """Find the sensor's orientation, its bias and what hangs on it, from orientations held in the air."""
    gravity = bench.rig.config.gravity
    start = bench.rig.clock.now_ns()

    def look(t0_ns: int) -> Advice:
        holds = bench.holds_since(t0_ns)
        seen = coverage([h.rotation for h in holds], gravity=gravity)
        return seen.complete, f"{len(holds)} orientations held. {seen.advice}"

    bench.take(
        "weight",
        "Hold the gripper freely in the air, touching nothing. Point each of its six sides down in turn, and hold "
        "still for a second each time.",
        {"kind": "free"},
        look,
    )
    return weigh(bench.holds_since(start), gravity)


def _advice(progress: TipProgress) -> Advice:
    return progress.done, progress.advice


def _turn_advice(screws: Array, handle: Array | None) -> Advice:
    progress = two_rotations_progress(screws, handle)
    if handle is None:
        far_enough = progress.covered[0] >= 1.0
        return False, "Far enough; a little further makes it better. Then stop." if far_enough else progress.advice
    return _advice(progress)


def keep(calibration: Tip | SensorAlignment | Load, bench: Bench, store: CalibrationStore) -> str:
    """Put a calibration into the store; returns where."""
    return str(store.save(calibration, rig_identity(bench.rig)))
