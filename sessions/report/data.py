"""What the report shows, taken out of a session as plain data for JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devices.buffer import WrenchWindow
from fitting import se3
from sessions.info import SessionInfo
from sessions.reader import Session
from sessions.report.nodes import Nodes
from sessions.report.story import calibration_numbers, story, verdict_of
from sessions.take import Take
from sessions.text import date_text

_POINTS = 320
"""Points of a trajectory or curve of one take."""
_BINS = 1000
"""Points of the force curve of the whole session."""


def collect(session: Session, model: Mapping[str, Any] | None) -> dict[str, Any]:
    """Everything the page needs; lengths in metres, angles in radians, times in seconds from the session's start."""
    info = session.info()
    documents = session.documents()
    nodes = Nodes.of(model or documents.get("model") or _fitted_model(session))
    rig = dict((documents.get("rig") or {}).get("config") or {})
    takes = session.takes()
    title = str((model or {}).get("name") or session.metadata.get("object") or session.path.stem)
    return {
        "title": title,
        "file": session.path.name,
        "started": date_text(info.t0_ns),
        "duration": info.duration_s,
        "software": session.metadata.get("software") or {},
        "metadata": {k: v for k, v in session.metadata.items() if isinstance(v, str | int | float)},
        "up": _up(rig),
        "nodes": nodes.to_json(_verdicts(session)),
        "takes": [_take(session, take, nodes, rig, info.t0_ns) for take in takes],
        "forces": _forces(session.wrenches(), info.t0_ns, _BINS),
        "calibration": calibration_numbers(documents.get("calibration")),
        "health": _health(info),
        "story": story(session),
        "notes": list((documents.get("import") or {}).get("notes") or []),
    }


def _fitted_model(session: Session) -> dict[str, Any]:
    """The last fit of each joint and handle, as a model."""
    fits: dict[str, Any] = {}
    for entry in session.events():
        if entry.content.get("event") == "Fitted" and isinstance(entry.content.get("model"), dict):
            fits[str(entry.content.get("node"))] = entry.content["model"]
    handles = [fit for fit in fits.values() if str(fit.get("type", "")).startswith("handle")]
    return {"joints": [fit for fit in fits.values() if fit not in handles], "handles": handles}


def _verdicts(session: Session) -> dict[str, dict[str, Any]]:
    """The last verdict on each joint and handle by name."""
    fits = [e.content for e in session.events() if e.content.get("event") == "Fitted"]
    return {str(fit.get("node")): verdict_of(fit.get("verdict")) for fit in fits}


def _take(session: Session, take: Take, nodes: Nodes, rig: Mapping[str, Any], t0_ns: int) -> dict[str, Any]:
    poses = _poses(session, take, rig, of_tip=nodes.has(take.name))
    result: dict[str, Any] = {
        "number": take.number,
        "name": take.name,
        "kind": take.kind,
        "start": (take.t0_ns - t0_ns) / 1e9,
        "duration": take.duration_s,
        "info": {k: v for k, v in take.info.items() if isinstance(v, str | int | float | bool)},
        "verdict": _verdict_of_take(session, take),
        "points": [],
        "curves": [],
        "forces": _forces(session.wrenches(take.t0_ns, take.t1_ns), take.t0_ns, _POINTS),
    }
    if poses is None or not len(poses[0]):
        return result
    t_ns, frames = poses
    keep = np.unique(np.linspace(0, len(t_ns) - 1, min(_POINTS, len(t_ns))).astype(int))
    seconds = (t_ns - take.t0_ns) / 1e9
    result["points"] = rounded(frames[keep, :3, 3])
    if take.kind not in ("lower_limit", "upper_limit"):
        result["curves"] = [
            {"key": key, "t": rounded(seconds[keep]), "value": rounded(values[keep])}
            for key, values in nodes.trace(take.name, frames).items()
        ]
    return result


def _poses(
    session: Session, take: Take, rig: Mapping[str, Any], *, of_tip: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """Times and frames of the tip, or of the tracked body, in the world or on the reference body where there is one.

    Calibration turns the gripper about its tip, so there the body's track is the one to see.
    """
    mocap = rig.get("mocap") or {}
    body = mocap.get("body") if mocap.get("body") in session.bodies else next(iter(session.bodies), None)
    if body is None:
        return None
    window = session.poses(body, take.t0_ns, take.t1_ns)
    t_ns, poses = window.t_ns[window.measured], window.poses()[window.measured]
    reference = mocap.get("reference")
    if reference in session.bodies:
        fixed = session.poses(str(reference), take.t0_ns, take.t1_ns)
        t_ns, here, there = np.intersect1d(t_ns, fixed.t_ns[fixed.measured], return_indices=True)
        poses = se3.inverse(fixed.poses()[fixed.measured][there]) @ poses[here]
    calibration = session.documents().get("calibration") or {}
    if of_tip and "offset_m" in calibration:
        rotation = np.array(calibration.get("rotation") or np.eye(3), dtype=float)
        poses = poses @ se3.frame(rotation, np.array(calibration["offset_m"], dtype=float))
    return t_ns, poses


def _verdict_of_take(session: Session, take: Take) -> dict[str, Any] | None:
    """The verdict on the first fit that used a take."""
    for entry in session.events():
        fit = entry.content
        if fit.get("event") == "Fitted" and take.number - 1 in (fit.get("takes") or ()):
            return verdict_of(fit.get("verdict"))
    return None


def _forces(wrenches: WrenchWindow, t0_ns: int, bins: int) -> dict[str, Any] | None:
    """Mean force and torque in equal bins of time, and the largest force in each; sensor frame, N and N m."""
    if not len(wrenches):
        return None
    seconds = (wrenches.t_ns - t0_ns) / 1e9
    edges = np.linspace(seconds[0], seconds[-1] + 1e-9, min(bins, len(seconds)) + 1)
    index = np.clip(np.searchsorted(edges, seconds, side="right") - 1, 0, len(edges) - 2)
    count = np.bincount(index, minlength=len(edges) - 1)
    used = count > 0
    mean = np.stack([np.bincount(index, column, len(edges) - 1)[used] for column in wrenches.wrench.T]) / count[used]
    size = np.zeros(len(edges) - 1)
    np.maximum.at(size, index, np.linalg.norm(wrenches.wrench[:, :3], axis=1))
    return {
        "t": rounded(((edges[:-1] + edges[1:]) / 2)[used]),
        "force": rounded(mean[:3]),
        "torque": rounded(mean[3:]),
        "peak": rounded(size[used]),
        "invalid": int((~wrenches.valid).sum()),
    }


def _health(info: SessionInfo) -> dict[str, Any]:
    return {
        "size": info.size,
        "parts": info.parts,
        "closed": info.closed,
        "problems": list(info.problems),
        "streams": [
            {
                "name": stream.name,
                "count": stream.count,
                "rate": stream.rate_hz,
                "gaps": stream.gaps,
                "longest": stream.longest_gap_s,
                "good": stream.share_good,
            }
            for stream in info.streams
        ],
    }


def _up(rig: Mapping[str, Any]) -> list[float]:
    """The direction against gravity in the world frame; z where the rig does not tell."""
    gravity = np.array(rig.get("gravity") or [0.0, 0.0, -1.0], dtype=float)
    length = float(np.linalg.norm(gravity))
    return rounded(-gravity / length) if gravity.shape == (3,) and length > 0 else [0.0, 0.0, 1.0]


def rounded(values: Sequence[float] | NDArray[Any]) -> Any:
    """Nested lists with six significant digits: enough for a picture, and a third of the size."""
    array = np.asarray(values, dtype=float)
    scale = 10.0 ** (5 - np.floor(np.log10(np.maximum(np.abs(array), 1e-9))))
    return np.nan_to_num(np.round(array * scale) / scale).tolist()
