"""What no take can show of itself: a tracked volume that is bent a little, everywhere differently but smoothly.

Fits state what chance does to them. The calibration of cameras leaves a smooth distortion besides, the same in every
take, that bends an arc into another one. It is declared, not estimated: its root mean square and the distance from
crest to crest. Its covariance over the places of a take goes through the same least squares as the positions.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from fitting.se3 import Array
from ident.joints.evidence import Evidence
from ident.joints.rotary import Rotary

DISTORTION_M = 1.5e-4
"""Metres per axis, rms. A declared figure, chosen on simulated takes whose volume is bent by 0.1 mm (decision 0094)."""
CREST_M = 1.0
"""Metres from crest to crest of the distortion: about the distance in which other cameras take over."""
_SAMPLES = 60
"""Places of a take that are looked at: the distortion is smooth."""
Node = TypeVar("Node")


def widened(node: Node, takes: Sequence[Array], rms: float = DISTORTION_M) -> Node:
    """Return the joint with the distortion's share in the covariance of its evidence.

    takes: tip poses (n, 4, 4) in the parent's frame that it was fitted to; rms: metres per axis. Only a rotary joint
    is widened: the direction of a slide is told by hundreds of millimetres of travel.
    """
    if not isinstance(node, Rotary):
        return node
    evidence = node.evidence
    if evidence is None or evidence.covariance is None or evidence.basis is None:
        return node
    covariance = evidence.covariance + rms**2 * _unit_covariance(evidence, evidence.basis, takes)
    return node.with_evidence(
        covariance=covariance,
        axis_std=float(np.sqrt(covariance[0, 0] + covariance[1, 1])),
        position_std=float(np.sqrt(covariance[2, 2] + covariance[3, 3])),
    )


def _unit_covariance(evidence: Evidence, basis: Array, takes: Sequence[Array]) -> Array:
    """Covariance (4, 4) of tilt and shift for a distortion of one metre per axis."""
    axis = np.cross(basis[0], basis[1])
    places, designs = [], []
    for take in takes:
        chosen = np.unique(np.linspace(0, len(take) - 1, _SAMPLES).astype(int))
        places.append(np.asarray(take)[chosen, :3, 3])
    own = 2 if evidence.grip != "loose" else 1
    for k, points in enumerate(places):
        arms = (points - evidence.point) @ np.stack([*basis, axis], axis=1)
        angles = np.arctan2(arms[:, 1], arms[:, 0])
        c, s, one = np.cos(angles), np.sin(angles), np.ones(len(points))
        rows = np.zeros((2, len(points), 2 + own * len(places)))
        if own == 2:
            # Turns known from the orientations: the centre and the arm of each take from both coordinates.
            rows[0, :, 0], rows[1, :, 1] = one, one
            rows[0, :, 2 + 2 * k], rows[0, :, 3 + 2 * k] = c, -s
            rows[1, :, 2 + 2 * k], rows[1, :, 3 + 2 * k] = s, c
        else:
            # From positions alone: the centre and the radius of each take from the distances.
            rows[0, :, 0], rows[0, :, 1], rows[0, :, 2 + k] = c, s, one
        designs.append(rows)
    points = np.concatenate(places)
    rows = np.concatenate(designs, axis=1)
    apart = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    # Waves of one length from all directions, and how alike they are at a distance.
    alike = np.exp(-((2.0 * np.pi / CREST_M) ** 2) * apart / 6.0)
    information = np.einsum("cni,cnj->ij", rows, rows)
    scores = np.einsum("cni,nm,cmj->ij", rows, alike, rows)
    inverse = np.linalg.pinv(information, hermitian=True)
    out = np.zeros((4, 4))
    out[2:, 2:] = (inverse @ scores @ inverse)[:2, :2]
    return out
