"""The procedure without sockets and clocks: simulated movements as packets, decoded, through the whole workflow.

A demo over real sockets takes seconds; a study needs thousands of takes. The frames here are encoded and decoded as
on the wire, and the reducer, the scripted operator and the fits are those of the product.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devices.natnet.descriptions import ModelDef, RigidBodyDescription
from devices.natnet.messages import Frame, RigidBody
from devices.natnet.packets import decode, encode
from devices.natnet.stream import PoseStream
from devices.sim import Disturbances, Scene, load_scene
from devices.sim.measurement import Measured, Rates
from devices.sim.world import World
from ident.description import plan_from_tables
from ident.reprocess import fitted_event
from ident.simulated import ancestors_to_places, movement_for
from ident.steps import calibrated_event
from ident.takes import TakeData, take_data
from ident.ui.script import answer
from ident.workflow import effects as fx
from ident.workflow import events as ev
from ident.workflow.machine import step
from ident.workflow.plan import Plan
from ident.workflow.quality import QualityLimits
from ident.workflow.state import Phase, State

VERSION = (4, 1)
BODY = "gripper"
MAX_MEAN_ERROR_M = 0.002


class OfflineRig:
    """A simulated rig whose packets are handed over directly, as fast as they can be made."""

    def __init__(self, scene: str | Path | Scene, seed: int, disturbances: Disturbances | None = None) -> None:
        self.rates = Rates()
        self.world = World(
            scene if isinstance(scene, Scene) else load_scene(scene), seed, disturbances or Disturbances(), self.rates
        )
        self._frame = 0

    def truth(self) -> dict[str, Any]:
        """What an identification should find."""
        return {**self.world.scene.truth(), **self.world.gripper.truth()}

    def plan(self) -> Plan:
        """The object as its operator would describe it."""
        return plan_from_tables(self.world.scene.description())[0]

    def perform(self, movement: Mapping[str, Any]) -> TakeData:
        """Make a movement and take it in."""
        job = self.world.begin(movement)
        stream = PoseStream((BODY,), 100_000, MAX_MEAN_ERROR_M)
        stream.name(ModelDef((RigidBodyDescription(BODY, 1),)))
        first = self._frame
        for measured in job.stretches[job.recorded]:
            self._send(measured, stream)
        t0_ns, t1_ns = self._time_ns(first - 0.5), self._time_ns(self._frame - 0.5)
        # Times of receipt are later than the exposure by the device's delay: the window must not cut the end.
        return take_data(stream.buffers[BODY].window(t0_ns, t1_ns + 1_000_000_000), t0_ns, t1_ns)

    def _send(self, measured: Measured, stream: PoseStream) -> None:
        for i, lost in enumerate(measured.lost.tolist()):
            number = self._frame
            self._frame += 1
            if lost:
                continue
            x, y, z = measured.position[i].tolist()
            qx, qy, qz, qw = measured.quaternion[i].tolist()
            body = RigidBody(1, (x, y, z), (qx, qy, qz, qw), float(measured.mean_error[i]), int(measured.valid[i]))
            message = decode(encode(Frame(number=number, rigid_bodies=(body,)), VERSION), VERSION)
            if isinstance(message, Frame):
                stream.take(message, self._time_ns(number))

    def _time_ns(self, frame: float) -> int:
        return round((1.0 + frame / self.rates.mocap_hz) * 1e9)


@dataclass(frozen=True)
class Outcome:
    """A whole identification."""

    state: State
    data: dict[int, TakeData]
    presses: int
    """What the operator did: presses of the trigger and other answers."""
    seconds: float
    """Length of all takes, in the operator's time."""


def identify(
    rig: OfflineRig,
    limits: QualityLimits | None = None,
    *,
    style: str = "normal",
    plan: Plan | None = None,
    operator: Callable[[State], ev.Event | None] = answer,
) -> Outcome:
    """Run the whole procedure with a scripted operator; the usual one follows the advice that it gets."""
    workshop = _Workshop(rig, limits or QualityLimits(), style)
    state = State()
    presses = 0
    waiting: list[ev.Event] = [ev.Described(plan=(plan or rig.plan()).to_dict())]
    while state.phase is not Phase.FINISHED:
        event = waiting.pop(0) if waiting else operator(state)
        if event is None:
            raise RuntimeError(f"the scripted operator is stuck in {state.phase}")
        presses += isinstance(event, OPERATOR)
        state, effects = step(state, event)
        waiting += [reply for effect in effects if (reply := workshop.perform(effect, state)) is not None]
    return Outcome(state, workshop.data, presses, workshop.seconds)


def content(state: State) -> ev.Event | None:
    """Operator who takes what the first take gave, whatever the verdict; goes on without it where it gave no fit."""
    if state.phase is not Phase.VERDICT:
        return answer(state)
    fitted = state.target is None or not state.target.node or state.result(state.target.node) is not None
    return ev.Accept() if fitted else ev.Skip()


OPERATOR = (ev.Proceed, ev.Accept, ev.Skip)
"""What the scripted operator says; each costs a press."""


class _Workshop:
    """Performs the effects of the workflow, at once and in place."""

    def __init__(self, rig: OfflineRig, limits: QualityLimits, style: str) -> None:
        self.data: dict[int, TakeData] = {}
        self.seconds = 0.0
        self._rig, self._limits, self._style = rig, limits, style

    def perform(self, effect: fx.Effect, state: State) -> ev.Event | None:
        match effect:
            case fx.CheckRig():
                return ev.RigChecked()
            case fx.BeginTake(take, target):
                for movement in ancestors_to_places(state, take):
                    self._rig.perform(movement)
                self.data[take] = self._rig.perform(movement_for(target, state, self._style))
                self.seconds += _duration(self.data[take])
                return ev.Proceed(t_ns=1)
            case fx.EndTake(take, _):
                return _ended(take, self.data[take])
            case fx.SolveCalibration(work, what):
                return calibrated_event(state, what, work, self.data)
            case fx.SolveNode(work, node):
                return fitted_event(state, node, work, self.data, self._limits)
            case fx.SaveModel():
                return ev.Saved(files=())
            case fx.AbandonTake():
                return None


def _duration(data: TakeData) -> float:
    return float(data.t_ns[-1] - data.t_ns[0]) * 1e-9 if data.measured else 0.0


def _ended(take: int, data: TakeData) -> ev.Event:
    return ev.TakeEnded(
        take=take,
        t0_ns=1,
        t1_ns=2,
        samples=data.samples,
        measured=data.measured,
        longest_loss_s=data.longest_loss_s,
    )
