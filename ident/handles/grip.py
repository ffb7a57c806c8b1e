"""What 1- and 2-DoF handles share: how a gripper turned about and slid along an axis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fitting.result import FitFailure
from fitting.se3 import Array, complete_axis, frame, rotation_z
from ident.joints.ends import ends
from ident.joints.frames import heading
from ident.joints.node import Limits
from ident.joints.takes import split


@dataclass(frozen=True)
class Grip:
    """A handle's frame and how far the gripper went, lower ends at zero."""

    origin: Array
    """handle2parent: on the axis at the lower end of the slide, x that of the gripper at the lower turn."""
    turn: Limits
    """Radians."""
    slide: Limits
    """Metres."""
    mean_slide: float
    """Metres from the origin."""


def find_grip(fit: Any, takes: Sequence[Array]) -> Grip | FitFailure:
    """Place the frame of a handle on a cylindrical fit of the gripper's poses in the parent's frame.

    The axis points along the gripper's own z-axis, so that the handle's frame is a gripper frame. Turns and
    slides are read from the gripper against this one axis, so those of several takes fit together.
    """
    stacked = np.concatenate([np.asarray(t, dtype=float) for t in takes])
    inliers = np.asarray(fit.inliers, dtype=bool)
    kept = stacked[inliers]
    if not len(kept):
        return FitFailure("no sample agrees with the fit")
    axis = np.asarray(fit.axis, dtype=float)
    axis = axis if np.median(kept[:, :3, 2] @ axis) >= 0.0 else -axis
    rough = frame(complete_axis(axis, kept[:, :3, 0].mean(axis=0)), fit.point)
    turns = split(heading(rough, stacked[:, :3, :3]), inliers, takes)
    slides = split((stacked[:, :3, 3] - fit.point) @ axis, inliers, takes)
    if isinstance(turns, FitFailure):
        return turns
    if isinstance(slides, FitFailure):
        return slides
    turn_ends = [ends(np.unwrap(t.values)) for t in turns]
    slide_ends = [ends(s.values) for s in slides]
    low_turn, low_slide = min(e.lower for e in turn_ends), min(e.lower for e in slide_ends)
    origin = rough @ frame(rotation_z(low_turn), [0.0, 0.0, low_slide])
    return Grip(
        origin=origin,
        turn=(0.0, max(e.upper for e in turn_ends) - low_turn),
        slide=(0.0, max(e.upper for e in slide_ends) - low_slide),
        mean_slide=float(np.mean([np.median(s.values) for s in slides])) - low_slide,
    )
