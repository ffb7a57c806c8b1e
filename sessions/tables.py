"""Recorded samples as the same windows that the live buffers give."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devices.buffer import PoseWindow, WrenchWindow
from sessions import format as fmt
from sessions.runs import Run

Chunk = list[tuple[str, Run]]
"""Topic and run, in file order."""
Columns = Mapping[str, NDArray[Any]]

_POSE_COLUMNS = {
    "t_ns": np.zeros(0, np.int64),
    "positions": np.zeros((0, 3)),
    "quaternions": np.zeros((0, 4)),
    "states": np.zeros(0, np.int64),
    "sequence": np.zeros(0, np.int64),
    "mean_error": np.zeros(0),
    "received_ns": np.zeros(0, np.int64),
    "ticks": np.zeros(0, np.int64),
}
_WRENCH_COLUMNS = {
    "t_ns": np.zeros(0, np.int64),
    "wrench": np.zeros((0, 6)),
    "valid": np.zeros(0, bool),
    "status": np.zeros(0, np.int64),
    "sequence": np.zeros(0, np.int64),
    "received_ns": np.zeros(0, np.int64),
}


def inside(t_ns: NDArray[np.int64], t0_ns: int | None, t1_ns: int | None) -> NDArray[np.bool_]:
    """(n,) whether ``t0_ns <= t <= t1_ns``; None is unbounded."""
    mask = np.ones(len(t_ns), dtype=bool)
    if t0_ns is not None:
        mask &= t_ns >= t0_ns
    if t1_ns is not None:
        mask &= t_ns <= t1_ns
    return mask


def pose_window(body: str, chunks: Iterable[Chunk], t0_ns: int | None, t1_ns: int | None) -> PoseWindow:
    """Poses of one body from the runs of its two channels, in order of time."""
    pieces = (piece for chunk in chunks for piece in _pose_pieces(chunk))
    return PoseWindow(body, **_joined(pieces, _POSE_COLUMNS, t0_ns, t1_ns))


def wrench_window(chunks: Iterable[Chunk], t0_ns: int | None, t1_ns: int | None) -> WrenchWindow:
    """Wrenches from the runs of both channels, in order of time."""
    pieces = (piece for chunk in chunks for piece in _wrench_pieces(chunk))
    return WrenchWindow(**_joined(pieces, _WRENCH_COLUMNS, t0_ns, t1_ns))


def _joined(pieces: Iterable[Columns], empty: Columns, t0_ns: int | None, t1_ns: int | None) -> dict[str, NDArray[Any]]:
    kept = []
    for piece in pieces:
        rows = inside(piece["t_ns"], t0_ns, t1_ns)
        kept.append({name: column[rows].astype(empty[name].dtype) for name, column in piece.items()})
    columns = {name: np.concatenate([nothing, *(k[name] for k in kept)]) for name, nothing in empty.items()}
    order = np.argsort(columns["t_ns"], kind="stable")
    return {name: column[order] for name, column in columns.items()}


def _paired(chunk: Chunk, companion: str) -> Iterator[tuple[Run, Run | None]]:
    """Runs of samples, each with the run of its companion topic that describes it row for row."""
    others = [run for topic, run in chunk if topic.endswith(companion)]
    for topic, run in chunk:
        if not topic.endswith(companion):
            yield run, next((other for other in others if np.array_equal(other.t_ns, run.t_ns)), None)


def _pose_pieces(chunk: Chunk) -> Iterator[Columns]:
    for run, companion in _paired(chunk, fmt.TRACKING_SUFFIX):
        body = run.view(fmt.POSE)
        if body is None:
            continue
        tracking = companion.view(fmt.TRACKING) if companion else None
        if tracking is None:
            tracking = np.zeros(len(body), fmt.TRACKING)
            tracking["sequence"] = run.sequence
        yield {
            "t_ns": run.t_ns,
            "positions": body["position"],
            "quaternions": body["quaternion"],
            "states": tracking["state"],
            "sequence": tracking["sequence"],
            "mean_error": tracking["mean_error"],
            "received_ns": run.publish_ns,
            "ticks": tracking["ticks"],
        }


def _wrench_pieces(chunk: Chunk) -> Iterator[Columns]:
    for run, companion in _paired(chunk, fmt.WRENCH_STATUS):
        body = run.view(fmt.WRENCH_BODY)
        if body is None:
            continue
        status = companion.view(fmt.STATUS) if companion else None
        if status is None:
            status = np.zeros(len(body), fmt.STATUS)
            status["sequence"], status["valid"] = run.sequence, True
        yield {
            "t_ns": run.t_ns,
            "wrench": body["wrench"],
            "valid": status["valid"],
            "status": status["status"],
            "sequence": status["sequence"],
            "received_ns": run.publish_ns,
        }
