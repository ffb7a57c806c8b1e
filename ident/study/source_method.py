"""The fitting method of the source (its chapters 3.2.4 and 3.2.5), to stand beside ours on the same data.

Positions only. A plane or line by basic RANSAC, then the plane by principal components with an algebraic circle, or
the line by regression. What the source leaves open is read in its favour, and said where it is decided.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitting.se3 import Array

THRESHOLD_M = 0.003
"""The source allows deviations "in the range of a few millimeters"."""
ITERATIONS = 200
"""Hypotheses; the source states no number, and more do not change its figures."""
SETTLED_M = 0.005
"""A tip that has left its place by more than this no longer only turns about the handle."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Axis:
    """A line in space: direction of unit length, and a point on it in metres."""

    direction: Array
    point: Array


def fit_line(points: Array, rng: np.random.Generator, *, robust: bool = True) -> Axis:
    """Line through points (n, 3) in metres, by regressing two coordinates on the third (3.12 to 3.16).

    The source regresses on z. Here it is the coordinate of largest extent: its world could be laid so that a drawer
    does not run at right angles to z, and its drawer's 0.05° says that it was.
    """
    used = points[_consensus(points, 2, _distance_to_line, rng)] if robust else points
    middle = used.mean(axis=0)
    along = int(np.argmax(np.ptp(used, axis=0)))
    design = np.stack([used[:, along], np.ones(len(used))], axis=-1)
    slopes = np.linalg.lstsq(design, used, rcond=None)[0][0]
    slopes[along] = 1.0
    return Axis(slopes / np.linalg.norm(slopes), middle)


def fit_circle(points: Array, rng: np.random.Generator, *, robust: bool = True) -> Axis:
    """Axis of the circle through points (n, 3) in metres: RANSAC for the plane only, PCA, algebraic circle."""
    used = points[_consensus(points, 3, _distance_to_plane, rng)] if robust else points
    middle = used.mean(axis=0)
    first, second, normal = np.linalg.svd(used - middle, full_matrices=False)[2]
    flat = (used - middle) @ np.stack([first, second], axis=-1)
    design = np.column_stack([flat, np.ones(len(flat))])
    solution = np.linalg.lstsq(design, (flat**2).sum(axis=-1), rcond=None)[0]
    centre = middle + 0.5 * (solution[0] * first + solution[1] * second)
    return Axis(normal, centre)


def fit_handle(bodies: Array, tip: Array, rng: np.random.Generator) -> Axis:
    """Axis of a 2-DoF handle from body poses (n, 4, 4) and the tip in the body's frame, metres.

    The source combines its two models without saying how. Its errors tell: the direction is as good as that of a
    slide, the place suffers from a short arc. So the line of the tip gives the direction, and the circle of the
    tracked point while the gripper only turns gives the place (the tip itself, on the axis, makes no circle).
    """
    tips = positions(bodies, tip)
    line = fit_line(tips, rng)
    moved = np.linalg.norm(tips - np.median(tips[:20], axis=0), axis=-1) > SETTLED_M
    turning = int(np.argmax(moved)) if moved.any() else len(tips)
    circle = fit_circle(bodies[: max(turning, 30), :3, 3], rng)
    return Axis(line.direction, circle.point)


def find_tip(about_screws: Array, about_handle: Array, rng: np.random.Generator) -> Array:
    """Tip in the body's frame (m) from body poses (n, 4, 4) of the two rotations on one spot of a bar (3.2.4).

    Circles of the tracked point give both axes; the middle of their closest points is the tip in the world, and its
    mean in the body's frame the offset.
    """
    first, second = (fit_circle(bodies[:, :3, 3], rng) for bodies in (about_screws, about_handle))
    tip = _closest(first, second)
    bodies = np.concatenate([about_screws, about_handle])
    offsets = np.einsum("nji,nj->ni", bodies[:, :3, :3], tip - bodies[:, :3, 3])
    return np.asarray(offsets.mean(axis=0))


def positions(bodies: Array, tip: Array) -> Array:
    """Positions (n, 3) of the tip, given in the body's frame."""
    return np.asarray(bodies[:, :3, :3] @ tip + bodies[:, :3, 3])


def _closest(one: Axis, other: Axis) -> Array:
    """Middle of the shortest segment between two lines."""
    across = one.point - other.point
    system = np.stack([one.direction, -other.direction], axis=-1)
    along = np.linalg.lstsq(system, -across, rcond=None)[0]
    return np.asarray(0.5 * (one.point + along[0] * one.direction + other.point + along[1] * other.direction))


def _consensus(
    points: Array, minimal: int, distance: Callable[[Array, Array], Array], rng: np.random.Generator
) -> Mask:
    """Largest set of points near a hypothesis through ``minimal`` random ones."""
    best = np.ones(len(points), dtype=bool)
    most = 0
    for _ in range(ITERATIONS):
        near = distance(points, points[rng.choice(len(points), minimal, replace=False)]) < THRESHOLD_M
        if near.sum() > most:
            best, most = near, int(near.sum())
    return best


def _distance_to_line(points: Array, sample: Array) -> Array:
    direction = (sample[1] - sample[0]) / max(float(np.linalg.norm(sample[1] - sample[0])), 1e-12)
    offsets = points - sample[0]
    return np.asarray(np.linalg.norm(offsets - np.outer(offsets @ direction, direction), axis=-1))


def _distance_to_plane(points: Array, sample: Array) -> Array:
    normal = np.cross(sample[1] - sample[0], sample[2] - sample[0])
    return np.asarray(np.abs((points - sample[0]) @ (normal / max(float(np.linalg.norm(normal)), 1e-12))))
