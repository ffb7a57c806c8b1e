"""What a live picture shows, collected where the measurement runs and sent to where it is drawn."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fitting.se3 import Array, inverse
from ident.identify import build_tree, node_record, tip_frame
from ident.joints.node import Node
from ident.live.following import Track
from ident.live.sketch import thinned
from ident.pipe import pack, unpack
from ident.takes import Ints, TakeData
from ident.tree import KinematicTree
from ident.workflow.plan import ROOT
from ident.workflow.state import Phase, State, Take, step_of
from ident.workflow.texts import STEP_NAMES

POINTS = 250
"""Points of each finished take that are drawn."""
GAP_S = 0.2
"""Seconds without samples that are shown as a gap, where the samples are not thinner anyway."""
_COLUMNS = ("t", "position", "wrench_t", "wrench")


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Everything that a picture shows; SI units, positions in the root frame."""

    title: str
    subtitle: str = ""
    nodes: tuple[dict[str, Any], ...] = ()
    """Joints and handles so far, the one that is being measured included, as records of the model file."""
    q: Mapping[str, float] = field(default_factory=dict)
    """Where the joints stand."""
    takes: Mapping[str, Array] = field(default_factory=dict)
    """(n, 3) tip positions by the joint or handle they were made for; ``""`` where there is no fit yet."""
    t: Array = field(default_factory=lambda: np.zeros(0))
    """(n,) seconds since the take began."""
    position: Array = field(default_factory=lambda: np.zeros((0, 3)))
    wrench_t: Array = field(default_factory=lambda: np.zeros(0))
    wrench: Array = field(default_factory=lambda: np.zeros((0, 6)))
    marks: tuple[tuple[float, str], ...] = ()
    """Moments to point out: seconds since the take began, and a word."""

    def encode(self) -> bytes:
        """As bytes for another process."""
        words = {
            "title": self.title,
            "subtitle": self.subtitle,
            "nodes": self.nodes,
            "q": dict(self.q),
            "takes": list(self.takes),
            "marks": self.marks,
        }
        arrays = {name: getattr(self, name) for name in _COLUMNS}
        return pack(words, {**arrays, **{f"take {name}": take for name, take in self.takes.items()}})

    @staticmethod
    def decode(data: bytes) -> "Snapshot":
        """Inverse of :meth:`encode`."""
        words, arrays = unpack(data)
        return Snapshot(
            title=words["title"],
            subtitle=words["subtitle"],
            nodes=tuple(words["nodes"]),
            q=words["q"],
            takes={name: arrays[f"take {name}"] for name in words["takes"]},
            marks=tuple((float(t), str(word)) for t, word in words["marks"]),
            **{name: arrays[name] for name in _COLUMNS},
        )


def snapshot_of(state: State, track: Track | None, data: Mapping[int, TakeData]) -> Snapshot:
    """Collect what there is to draw: the results, their takes, and the running take with its fit."""
    tip2body = tip_frame(state)
    tree = build_tree(state)
    takes: dict[str, Array] = {}
    for result in state.results:
        done = [thinned(data[i], POINTS).tip(tip2body)[:, :3, 3] for i in result.takes if i in data]
        if done and result.node in tree.nodes:
            takes[result.node] = np.concatenate(done)
    records = {name: node_record(node) for name, node in tree.nodes.items()}
    if track is None or not _shown(state, track.take):
        return Snapshot(state.plan.name, _progress_words(state), tuple(records.values()), {}, takes)
    points = (track.body @ tip2body)[:, :3, 3]
    name = track.take.target.node
    running = state.recording is not None and state.recording.id == track.take.id
    node = track.fit.node if running and track.fit is not None else tree.nodes.get(name)
    if node is not None and node.parent != ROOT and node.parent not in tree.nodes:
        node = None
    q: dict[str, float] = {}
    if node is not None:
        records[name] = node_record(node)
        q = dict(node.evidence.measured_at) if node.evidence is not None else {}
    takes[name if node is not None else ""] = points
    # A simulated hand has to get there first; a person's take begins with its first sample anyway.
    start = int(track.t_ns[0]) if len(track.t_ns) else track.take.t0_ns
    return Snapshot(
        title=f"{state.plan.name}: {name or STEP_NAMES[step_of(track.take.target)]}",
        subtitle=_words(state, track),
        nodes=tuple(records.values()),
        q=q,
        takes=takes,
        t=_seconds(track.t_ns, start),
        position=points,
        wrench_t=_seconds(track.wrench_t_ns, start),
        wrench=track.wrench,
        marks=(
            (0.0, "start"),
            *_losses(track),
            *(_ends(node, tree, track, tip2body) if node is not None else ()),
            *(((_seconds_since(state.takes[track.take.id].t1_ns, start), "stop"),) if not running else ()),
        ),
    )


def _shown(state: State, take: Take) -> bool:
    """Whether a take still is what the operator thinks about: until the next target, and while it counts."""
    return take.id < len(state.takes) and state.phase not in (
        Phase.DESCRIBE,
        Phase.REVIEW,
        Phase.SAVING,
        Phase.FINISHED,
    )


def _words(state: State, track: Track) -> str:
    result = state.result(track.take.target.node)
    if state.recording is None and result is not None:
        return result.verdict.summary
    return track.fit.verdict.summary if track.fit is not None else ""


def _ends(node: Node, tree: KinematicTree, track: Track, tip2body: Array) -> list[tuple[float, str]]:
    """When a joint first reached its ends."""
    if node.dof != 1 or not len(track.t_ns):
        return []
    places = dict(node.evidence.measured_at) if node.evidence is not None else {}
    parent2root = np.eye(4) if node.parent == ROOT else tree.pose(node.parent, places, check_limits=False)
    q = node.trace([inverse(parent2root) @ track.body @ tip2body])
    lower, upper = node.limits[0]
    margin = 0.02 * (upper - lower)
    found = []
    for word, there in (("lower", q <= lower + margin), ("upper", q >= upper - margin)):
        if there.any() and not there[0]:
            found.append((_seconds_since(int(track.t_ns[int(np.argmax(there))]), int(track.t_ns[0])), word))
    return found


def _seconds_since(t_ns: int, start_ns: int) -> float:
    return max(0.0, (t_ns - start_ns) * 1e-9)


def _seconds(t_ns: Ints, start_ns: int) -> Array:
    return np.asarray((t_ns - start_ns) * 1e-9, dtype=np.float64)


def _progress_words(state: State) -> str:
    return f"{sum(r.accepted for r in state.results)} of {len(state.plan.nodes)} measured"


def _losses(track: Track) -> list[tuple[float, str]]:
    """Where the cameras did not see the gripper: a step much longer than usual."""
    steps = np.diff(track.t_ns)
    if len(steps) < 3:
        return []
    at = np.flatnonzero(steps > max(5.0 * float(np.median(steps)), GAP_S * 1e9))
    return [((int(track.t_ns[i]) - int(track.t_ns[0])) * 1e-9, "lost") for i in at[:5]]
