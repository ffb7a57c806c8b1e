"""A measurement without devices: the real reducer, whose effects are answered at once with plausible reports."""

import asyncio
import math
import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ident.identify import node_record
from ident.joints import Prismatic, Rotary
from ident.live import DeviceLive, LiveFit, LiveStatus, TakeLive
from ident.live.status import Load
from ident.ui.wizard.app import StateChanged, WizardApp
from ident.workflow import effects as fx
from ident.workflow import events as ev
from ident.workflow.machine import step
from ident.workflow.plan import Node, Plan
from ident.workflow.quality import Finding, QualityLimits, Verdict
from ident.workflow.state import PLACE, TIP, WEIGHT, State

CABINET = Plan(
    "cabinet",
    (
        Node("top", "prismatic"),
        Node("top_handle", "handle2", "top", 0.008),
        Node("door", "auto"),
        Node("lever", "rotary", "door"),
    ),
)
GOOD = Verdict("351 mm of travel, axis ± 0.05°, 870 of 880 samples used")


class FakeMachine:
    """Folds events as the runner does; a take that ends is answered with ``verdict``."""

    def __init__(self, verdict: Verdict = GOOD, problems: tuple[str, ...] = ()) -> None:
        self.state = State()
        self.failed = False
        self.verdict = verdict
        self.problems = problems
        self.offers: tuple[str, ...] = ()
        self.log: list[ev.Event] = []
        self.app: WizardApp | None = None
        self._now = 1_000_000_000

    def post(self, event: ev.Event) -> None:
        self._now += 100_000_000
        event = replace(event, t_ns=event.t_ns or self._now)
        self.log.append(event)
        self.state, effects = step(self.state, event)
        if self.app is not None:
            self.app.post_message(StateChanged(self.state))
        for effect in effects:
            answer = self._answer(effect)
            if answer is not None:
                self.post(answer)

    def _answer(self, effect: fx.Effect) -> ev.Event | None:
        match effect:
            case fx.CheckRig():
                return ev.RigChecked(problems=self.problems, offers=self.offers)
            case fx.EndTake(take, t1_ns):
                t0_ns = self.state.takes[take].t0_ns
                return ev.TakeEnded(take=take, t0_ns=t0_ns, t1_ns=t1_ns, samples=600, measured=590)
            case fx.SolveCalibration(work, what) if what != TIP:
                found = {WEIGHT: {"mass_kg": 0.512}, PLACE: {"points_m": [[0, 0, 0], [1, 0, 0], [0, 1, 0]]}}[what]
                return ev.Calibrated(work=work, what=what, calibration=found, verdict=Verdict("Known.").to_dict())
            case fx.SolveCalibration(work):
                tip = {"rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "offset_m": [0, 0, 0.1], "position_std_m": 4e-4}
                return ev.Calibrated(work=work, calibration=tip, verdict=Verdict("Tip ± 0.40 mm.").to_dict())
            case fx.SolveNode(work, node):
                takes = tuple(t.id for t in self.state.takes if t.target.node == node and t.used)
                return ev.Fitted(
                    work=work, node=node, takes=takes, model=self._model(node), verdict=self.verdict.to_dict()
                )
            case fx.SaveModel():
                return ev.Saved(files=(f"out/{self.state.plan.name}.model.json",))
            case _:
                return None

    def _model(self, name: str) -> dict[str, Any]:
        example = Prismatic.example() if self.state.plan.node(name).kind == "prismatic" else Rotary.example()
        return node_record(replace(example, name=name, parent=self.state.plan.node(name).parent))


def imprecise() -> Verdict:
    return Verdict(
        "12.3° of turn, axis ± 0.84°, position ± 2.10 mm, 400 of 410 samples used",
        (Finding("imprecise", "The axis is known to ± 0.84° and ± 2.1 mm.", "Add a take.", "add"),),
    )


def contradicted() -> Verdict:
    return Verdict(
        "80 mm of travel, axis ± 0.30°, 300 of 410 samples used",
        (Finding("other_type", "The movement looks rotary, not prismatic.", "Change the type.", suggests="rotary"),),
    )


def live_fit(**changes: Any) -> LiveFit:
    fit = LiveFit(
        "rotary",
        imprecise(),
        samples=380,
        inliers=371,
        axis_std=math.radians(0.84),
        position_std=0.0021,
        arc=math.radians(12.3),
    )
    return replace(fit, **changes)


def look_at(machine: FakeMachine, fit: LiveFit | None = None, **changes: Any) -> Callable[[], LiveStatus]:
    """A look at healthy devices, and at the running take where there is one."""

    def look() -> LiveStatus:
        take = machine.state.recording
        live = None if take is None else TakeLive(take.id, 3.2, 384, 380, fit=fit or live_fit())
        status = LiveStatus(
            DeviceLive(120.0, "tracking", 0.008), DeviceLive(1000.0, "streaming", 0.002), Load(4.3, 0.58), live
        )
        return replace(status, **changes)

    return look


def wizard(machine: FakeMachine, fit: LiveFit | None = None, **options: Any) -> WizardApp:
    app = WizardApp(machine, look_at(machine, fit), QualityLimits(), **options)
    machine.app = app
    return app


def words(app: WizardApp) -> str:
    """Everything that can be read on the screen."""
    width, height = app.size
    lines = app.screen._compositor.render_strips()[:height]
    return "\n".join("".join(segment.text for segment in strip)[:width] for strip in lines)


async def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Let the application work until something is true; the time is only for what never becomes true."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        await asyncio.sleep(0.02)


async def sees(app: WizardApp, *pieces: str) -> None:
    """Wait until each piece of text can be read on the screen, over line ends too."""

    def readable() -> bool:
        text = re.sub(r"[\s│]+", " ", words(app))
        return all(piece in text for piece in pieces)

    try:
        await until(readable)
    except AssertionError:
        raise AssertionError(f"{pieces} cannot be read here:\n{words(app)}") from None
