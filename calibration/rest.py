"""Something that is held still: its mean, how well that is known, and whether it really stood still."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from calibration.estimate import Estimate, refine
from fitting import se3

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Rest:
    """A constant (k,) beside the samples (n, k) that scatter about it."""

    samples: Array
    mean: Array

    @property
    def groups(self) -> tuple[slice, ...]:
        """Shift, and rotation where there is one."""
        return tuple(slice(start, start + 3) for start in range(0, len(self.mean), 3))

    def residuals(self) -> Array:
        """Deviation of each sample (n, k)."""
        return np.asarray(self.samples - self.mean)

    def jacobian(self) -> Array:
        """(n, k, k): the mean moves all residuals alike."""
        k = len(self.mean)
        return np.broadcast_to(-np.eye(k), (len(self.samples), k, k))

    def moved(self, step: Array) -> Self:
        """Move the mean."""
        return type(self)(self.samples, self.mean + step)


def fit_rest(samples: Array) -> Estimate[Rest]:
    """Robust mean of samples (n, k)."""
    return refine(Rest(samples, np.median(samples, axis=0)))


def drift(estimate: Estimate[Rest]) -> Array:
    """Largest deviation of the good samples from their mean, smoothed over an eighth of the take: how far the shift
    and, where there is one, the rotation came."""
    from scipy.ndimage import uniform_filter1d  # here, since every command would wait for it

    kept = estimate.model.samples[estimate.inliers]
    smooth = uniform_filter1d(kept - kept.mean(axis=0), max(len(kept) // 8, 1), axis=0, mode="nearest")
    return np.array([np.linalg.norm(smooth[:, group], axis=1).max() for group in estimate.model.groups])


def deviations(frames: Array) -> tuple[Array, Array]:
    """A middle frame (4, 4), and how frames (n, 4, 4) deviate from it as (n, 6) shift (m) and rotation (rad).

    Both are expressed in the parent's axes: ``frame = middle shifted by d and turned by exp(r)`` about its
    own origin.
    """
    position = np.median(frames[:, :3, 3], axis=0)
    quaternions = se3.quaternion_from_rotation(frames[:, :3, :3])
    _, vectors = np.linalg.eigh(quaternions.T @ quaternions)
    rotation = se3.rotation_from_quaternion(vectors[:, -1])
    turned = se3.rotation_log(frames[:, :3, :3] @ rotation.T)
    return se3.frame(rotation, position), np.concatenate([frames[:, :3, 3] - position, turned], axis=1)


def apply(middle: Array, deviation: Array) -> Array:
    """Frame (4, 4) that deviates from ``middle`` by a shift and a rotation (6,)."""
    return se3.frame(se3.rotation_exp(deviation[3:]) @ middle[:3, :3], middle[:3, 3] + deviation[:3])
