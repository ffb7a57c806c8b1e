"""Poses that a tracker repeats digit for digit while it has lost its body: one measurement, told several times."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fitting import checks
from fitting.result import FitFailure, Mask, of_samples
from fitting.se3 import Array

Fitter = TypeVar("Fitter", bound=Callable[..., Any])


def told_once(fitter: Fitter) -> Fitter:
    """A fitter of poses that sees repeated ones once; its result tells of every sample, as of the one it repeats."""

    @wraps(fitter)
    def fit(poses: Any, *args: Any, **options: Any) -> Any:
        takes = checks.as_pose_takes(poses)
        if isinstance(takes, FitFailure):
            return takes
        fresh, numbers = without_repeats(takes)
        found = fitter(fresh, *args, **options)
        return found if numbers is None or isinstance(found, FitFailure) else of_samples(found, numbers)

    return cast(Fitter, fit)


def without_repeats(takes: list[Array]) -> tuple[list[Array], NDArray[np.int64] | None]:
    """Takes (n, 4, 4) without the poses that repeat one before; and which of these each sample is, None: itself."""
    masks = [_fresh(take) for take in takes]
    if all(mask.all() for mask in masks):
        return takes, None
    numbers = np.cumsum(np.concatenate(masks)) - 1
    return [take[mask] for take, mask in zip(takes, masks, strict=True)], numbers


def _fresh(take: Array) -> Mask:
    """Poses (n,) that were measured; a place that repeats says so, but for a tip that always is in the same one."""
    from fitting.kernels import changing

    columns = np.ascontiguousarray(take[:, :3].reshape(len(take), 12)[:, [3, 7, 11, 0, 1, 2, 4, 5, 6, 8, 9, 10]].T)
    places, count = changing(columns[:3])
    return places if 2 * count >= len(take) else changing(columns)[0]
