"""A tracked point that is known to be near the axis: the tip of a gripper that holds a round handle.

A handle of a few centimetres that turns by some twenty degrees hardly shows how far from its axis the tip is, and what
is not known of that is missing in the direction of the axis, too. Whoever grips it knows: the bar lies in the jaws.
"""

from dataclasses import replace

import numpy as np

from fitting.joint import Joint
from fitting.motion import Kind
from fitting.noise import chi2_quantile
from fitting.se3 import complete_axis

_BELIEVED = 0.99
"""A point that would be so near less often than once in a hundred is somewhere else, and what was known is wrong."""


def beside_axis(kind: Kind, joint: Joint, std: float) -> Joint:
    """The joint, with the place where its first take starts as near to the axis as is known.

    kind: one that turns and slides. std: standard deviation (m) of the point's distance from the axis, in each of the
    two directions across. Where the take contradicts it, nothing changes.
    """
    motion, start = joint.motion, joint.motion.starts[0]
    frame = complete_axis(motion.axis)
    arm = frame.T @ (start.p0 - motion.center)
    places = len(kind.shared) + 2
    known = joint.parameters
    J = np.zeros((2, len(known)))
    J[:, :2], J[:, 2:4], J[:, places : places + 2] = -arm[2] * np.eye(2), -np.eye(2), np.eye(2)
    seen = J @ known @ J.T + std**2 * np.eye(2)
    if not float(arm[:2] @ np.linalg.solve(seen, arm[:2])) < chi2_quantile(2, _BELIEVED):
        return joint
    gain = np.linalg.solve(seen, J @ known).T
    step, left = -gain @ arm[:2], known - gain @ J @ known
    axis = motion.axis + frame[:, :2] @ step[:2]
    axis = axis / np.linalg.norm(axis)
    center = motion.center + frame[:, :2] @ step[2:4]
    p0 = start.p0 + frame[:, :2] @ step[places : places + 2]
    moved = replace(motion, axis=axis, center=center, starts=(replace(start, p0=p0), *motion.starts[1:]))
    basis = complete_axis(axis, frame[:, 0])[:, :2].T
    return replace(joint, motion=moved, basis=basis, covariance=left[:4, :4], parameters=left)
