"""Which advice each bad take of the simulated operator gets, and how often a good one is blamed.

python -m bench.advice [CASES_PER_STYLE]

Every case is a take of another seed, joint or handle through the real fit, with the calibration and the ancestors of
a measurement with that seed. `matching` counts takes whose findings hold the advice for what was done wrong, `first`
those in which it is the first thing that the operator reads.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

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


@dataclass(frozen=True)
class Case:
    """One take of one joint or handle and what was said about it."""

    scene: str
    seed: int
    node: str
    style: str
    data: TakeData
    verdict: Verdict

    @property
    def codes(self) -> tuple[str, ...]:
        """Codes of the findings in their order."""
        return tuple(f.code for f in self.verdict.findings)

    @property
    def matched(self) -> bool:
        """Whether the advice fits what was done."""
        wanted = MATCHING[self.style]
        return bool(set(wanted) & set(self.codes)) if wanted else not self.codes


class Measured:
    """An object that was measured once with care, so that calibration and ancestors are there."""

    def __init__(self, scene: str, seed: int) -> None:
        self.scene, self.seed = scene, seed
        self.rig = OfflineRig(scene, seed)
        outcome = identify(self.rig, style="careful", operator=content)
        self.state, self.data = outcome.state, outcome.data

    def nodes(self, style: str) -> list[str]:
        """Joints and handles that a style means something for."""
        return [n.name for n in self.state.plan if not (n.is_handle and style in ONLY_JOINTS)]

    def case(self, node: str, style: str, limits: QualityLimits, kind: str | None = None) -> Case:
        """Make one more take, the only one that counts, and fit it; ``kind`` replaces the described type."""
        state = only_take_of(self.state, node)
        if kind is not None:
            state = replace(state, plan=state.plan.with_kind(node, kind))
        for name, at in state.takes[-1].places:
            self.rig.perform({"kind": "place", "joint": name, "at": at})
        moved = "handle" if state.plan.node(node).is_handle else "joint"
        data = self.rig.perform({"kind": moved, "name": node, "style": style})
        answer = fitted_event(state, node, 0, {**self.data, state.takes[-1].id: data}, limits)
        return Case(self.scene, self.seed, node, style, data, verdict_of(answer))


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


def main(count: int) -> None:
    limits = QualityLimits()
    measured = [Measured(scene, seed) for seed in range(1, 2 + count // 50) for scene in SCENES]
    print(f"{'style':10} {'cases':>5} {'matching':>9} {'first':>7}  findings")
    for style, wanted in MATCHING.items():
        found = list(cases(style, count, measured, limits))
        right = sum(c.matched for c in found) / len(found)
        first = sum(c.codes[:1] == () if not wanted else c.codes[:1] != () and c.codes[0] in wanted for c in found)
        said = Counter(code for c in found for code in c.codes)
        print(f"{style:10} {len(found):5} {right:9.1%} {first / len(found):7.1%}  {dict(said.most_common())}")
        for c in [c for c in found if not c.matched][:8]:
            print(f"    {c.scene} seed {c.seed} {c.node}: {c.codes} {c.verdict.summary}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
