"""Which advice the simulated operator's takes get: good ones, and those that are bad in one named way."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ident.reprocess import fitted_event
from ident.study.offline import OfflineRig, content, identify
from ident.takes import TakeData
from ident.workflow import events as ev
from ident.workflow.quality import QualityLimits, Verdict, refused
from ident.workflow.state import State, Take, Target

SCENES = ("door", "cabinet", "testbench")

MATCHING = {
    "short": ("short_arc", "short_travel"),
    "loose": ("loose_grip",),
    "stray": ("strayed",),
    "slip": ("slipped",),
    "occluded": ("tracking_lost",),
    "quick": ("too_quick",),
    "normal": (),
    "careful": (),
}
"""Codes that name what a style does wrong."""

ONLY_JOINTS = ("loose", "slip")
"""A handle is gripped loosely and slid along on purpose: there these are part of the movement."""


@dataclass(frozen=True, eq=False)
class Case:
    """One take of one joint or handle and what was said about it."""

    scene: str
    seed: int
    node: str
    style: str
    data: TakeData
    verdict: Verdict
    kind: str
    """Type that was fitted; empty where nothing was."""

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the findings in their order."""
        return tuple(f.code for f in self.verdict.findings)

    @property
    def matched(self) -> bool:
        """Whether the advice fits what was done."""
        wanted = MATCHING[self.style]
        return bool(set(wanted) & set(self.codes)) if wanted else not self.codes

    @property
    def matched_first(self) -> bool:
        """Whether that advice is the first thing that the operator reads."""
        wanted = MATCHING[self.style]
        return self.codes[:1] != () and self.codes[0] in wanted if wanted else not self.codes


class Measured:
    """An object that was measured once with care, so that calibration and ancestors are there."""

    def __init__(self, scene: str | Path, seed: int) -> None:
        self.seed = seed
        self.rig = OfflineRig(scene, seed)
        outcome = identify(self.rig, style="careful", operator=content)
        self.state, self.data = outcome.state, outcome.data

    def nodes(self, style: str) -> list[str]:
        """Joints and handles that a style means something for."""
        return [n.name for n in self.state.plan if not (n.is_handle and style in ONLY_JOINTS)]

    def joints(self) -> list[str]:
        """Names of the joints."""
        return [n.name for n in self.state.plan if not n.is_handle]

    def case(self, node: str, style: str, limits: QualityLimits) -> Case:
        """Make one more take, the only one that counts, and fit it."""
        moved = "handle" if self.state.plan.node(node).is_handle else "joint"
        return self._case(self.state, node, {"kind": moved, "name": node, "style": style}, limits)

    def find_out(self, joint: str, style: str, limits: QualityLimits, *, held: bool = False) -> Case:
        """Make a take of a joint whose type was not told; ``held`` only holds it still, as a fixed part would."""
        state = replace(self.state, plan=self.state.plan.with_kind(joint, "auto"))
        movement: dict[str, Any] = {"kind": "joint", "name": joint, "style": style}
        if held:
            movement = {"kind": "hold", "joint": joint, "at": "lower", "seconds": 3.0, "style": style}
        return self._case(state, joint, movement, limits)

    def _case(self, state: State, node: str, movement: Mapping[str, Any], limits: QualityLimits) -> Case:
        state = only_take_of(state, node)
        for name, at in state.takes[-1].places:
            self.rig.perform({"kind": "place", "joint": name, "at": at})
        data = self.rig.perform(movement)
        answer = fitted_event(state, node, 0, {**self.data, state.takes[-1].id: data}, limits)
        kind = str(answer.model["type"]) if isinstance(answer, ev.Fitted) else ""
        return Case(state.plan.name, self.seed, node, str(movement["style"]), data, verdict_of(answer), kind)


def verdict_of(answer: ev.Event) -> Verdict:
    """What the operator reads."""
    if isinstance(answer, ev.Fitted | ev.Failed) and answer.verdict:
        return Verdict.from_dict(answer.verdict)
    return refused(answer.reason if isinstance(answer, ev.Failed) else "no answer")


def only_take_of(state: State, node: str) -> State:
    """The state with one further take of a node, its ancestors at their lower ends, and no other take of it."""
    takes = tuple(replace(t, used=t.used and t.target.node != node) for t in state.takes)
    places = tuple((a.name, "lower") for a in state.plan.ancestors(node))
    take = Take(id=len(takes), target=Target("movement", node), t0_ns=1, t1_ns=2, places=places)
    results = tuple(r for r in state.results if r.node != node)
    return replace(state, takes=(*takes, take), results=results)


def cases(style: str, count: int, measured: list[Measured], limits: QualityLimits) -> Iterator[Case]:
    """So many takes in a style, over all objects, seeds, joints and handles in turn."""
    pool = [(m, node) for m in measured for node in m.nodes(style)]
    for i in range(count):
        m, node = pool[i % len(pool)]
        yield m.case(node, style, limits)
