"""Between the axis that orientations lead to and the one of positions alone, where a grip turned gradually.

A hand that slips turns at once, and orientations before and after are as good as any. One that gives way bit by bit has
turned a little in what seems to have held, too: about the joint's own axis, no residual shows that. How far positions
contradict then tells how far orientations may be believed. The James–Stein estimator is nowhere worse than positions
alone, however far orientations were led astray, and better where they were not.
"""

from dataclasses import replace

import numpy as np

from fitting.circle import CircleFit
from fitting.joint import Joint, resettled
from fitting.motion import Motion
from fitting.onset import gradual
from fitting.se3 import Array, complete_axis

_FREE = 1.0
"""Squared distance, in variances of the positions, that is taken for their own error. Up to 4 the estimator is nowhere
worse than positions; what leads astray is mostly one component of the four, the axis's place along the radius."""
_DOUBTED = 0.5
"""Share of the positions' covariance in what is claimed, at least: a distance within chance may be an error of both."""


def crept(joint: Joint) -> bool:
    """Whether a grip left the orientations that count gradually."""
    return any(
        gradual(residuals[:, 3:], part.orientations, part.positions)
        for part, residuals in zip(joint.parts, joint.residuals, strict=True)
    )


def distance(motion: Motion, circle: CircleFit) -> Array:
    """Tilt and shift (4,) along the circle's basis from its axis to the one of a motion."""
    axis = motion.axis if motion.axis @ circle.axis > 0.0 else -motion.axis
    offset = motion.center - circle.center
    # Where it meets the circle's plane.
    offset = offset - (offset @ circle.axis) / max(float(axis @ circle.axis), 1e-3) * axis
    return np.concatenate([circle.basis @ (axis - circle.axis), circle.basis @ offset])


def apart(motion: Motion, circle: CircleFit) -> float:
    """Squared distance of a motion's axis from the circle's, in variances of the latter (χ², 4 components)."""
    away = distance(motion, circle)
    return float(away @ np.linalg.lstsq(circle.covariance, away, rcond=None)[0])


def between(joint: Joint, circle: CircleFit) -> Joint:
    """The joint of a take whose grip gave way gradually, with its axis as far toward the circle's as positions ask.

    Its responses stay those of the orientations' joint: they say too much rather than too little.
    """
    share = 1.0 - _FREE / max(apart(joint.motion, circle), _FREE)
    away = distance(joint.motion, circle)
    tilt, shift = (1.0 - share) * away.reshape(2, 2) @ circle.basis
    sign = 1.0 if joint.motion.axis @ circle.axis > 0.0 else -1.0
    axis = sign * (circle.axis + tilt)
    axis /= np.linalg.norm(axis)
    center = circle.center + shift
    center += ((joint.motion.center - center) @ axis) * axis
    motion, residuals = resettled(_through_places(joint, axis, center), joint.parts)
    frame = complete_axis(axis, joint.basis[0])
    # Errors along one basis, told along another of nearly the same axis, which may be reversed.
    old, new = np.zeros((4, 4)), np.zeros((4, 4))
    for turn, basis, flip in ((old, joint.basis, 1.0), (new, circle.basis, sign)):
        turn[2:, 2:] = frame[:, :2].T @ basis.T
        turn[:2, :2] = flip * turn[2:, 2:]
    before, places = old @ joint.covariance @ old.T, new @ circle.covariance @ new.T
    apart_by = share * (1.0 - share) * new @ np.outer(away, away) @ new.T
    doubt = max(share, _DOUBTED)
    covariance = (1.0 - doubt) * before + doubt * places + apart_by
    values, vectors = np.linalg.eigh(covariance - before)
    grown = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return replace(
        joint,
        motion=motion,
        residuals=residuals,
        basis=frame[:, :2].T,
        covariance=covariance,
        body_basis=(motion.starts[0].R0.T @ frame[:, :2]).T,
        body_covariance=old @ joint.body_covariance @ old.T + grown,
    )


def _through_places(joint: Joint, axis: Array, center: Array) -> Motion:
    """The motion about another axis, whose grips start on the path that their positions are on."""
    starts = []
    for part, start in zip(joint.parts, joint.motion.starts, strict=True):
        radii, heights = about(part.take.p[part.positions], axis, center)
        arm = start.p0 - center
        out = arm - (arm @ axis) * axis
        starts.append(replace(start, p0=center + heights.mean() * axis + radii.mean() / np.linalg.norm(out) * out))
    return replace(joint.motion, axis=axis, center=center, starts=tuple(starts))


def about(points: Array, axis: Array, center: Array) -> tuple[Array, Array]:
    """Distances (n,) of points from an axis, and heights (n,) along it, metres."""
    arms = points - center
    heights = arms @ axis
    return np.linalg.norm(arms - heights[:, None] * axis, axis=1), heights
