"""What may be fitted: shapes and types are the caller's fault (ValueError), bad values are the data's (FitFailure)."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitting.result import FitFailure
from fitting.se3 import Array

LARGEST_EXTENT = 15.0
"""Metres. No door is larger: coordinates beyond it are almost surely millimetres."""
_ANYWHERE = 1e12
"""Metres beyond which it does not matter how far."""

_FINEST, _COARSEST = 1e-12, 1e6
"""Metres: smaller and larger standard deviations are no tracker's."""

_ROTATION_TOLERANCE = 1e-3
"""How far RᵀR may be from the identity: far above rounding in a float32 stream, far below any real mistake."""
_BOTTOM_TOLERANCE = 1e-9
"""How far the last row may be from 0 0 0 1."""


def as_takes(data: Any, shape: tuple[int, ...], name: str) -> list[Array] | FitFailure:
    """Check one array (n, *shape) or a sequence of such takes; give them as a list of float arrays.

    Wrong shapes and types raise ValueError. Values that are not finite give a FitFailure that names the row.
    """
    takes = [_as_array(take, shape, name) for take in (data if _is_several(data, shape) else [data])]
    if not takes:
        raise ValueError(f"No takes given: {name} must be an array (n, {_words(shape)}) or a list of such.")
    for k, take in enumerate(takes):
        where = f" of take {k}" if len(takes) > 1 else ""
        largest = float(np.abs(take).max(initial=0.0))
        if not math.isfinite(largest):
            fine = np.isfinite(take).all(axis=tuple(range(1, take.ndim)))
            row = int(np.argmin(fine))
            return FitFailure(
                f"Row {row}{where} of {name} is not finite ({len(take) - int(fine.sum())} such rows). "
                "Leave out the samples that were not tracked."
            )
        # The first is quick and nearly always enough.
        large = None if 2.0 * largest <= LARGEST_EXTENT else too_large(take if len(shape) == 1 else take[:, :3, 3])
        if large is not None:
            return large
        # Squares of larger numbers lose the noise in rounding, and overflow beyond that.
        if largest > 1e6:
            row = int(np.argmax(np.abs(take).max(axis=tuple(range(1, take.ndim)))))
            return FitFailure(f"Row {row}{where} of {name} has a value above 10⁶. Are the units metres?")
    # Empty ones among several say nothing.
    return [take for take in takes if len(take)] or takes[:1]


def as_pose_takes(poses: Any) -> list[Array] | FitFailure:
    """Check poses (n, 4, 4), or a sequence of such takes, body to world, metres."""
    takes = as_takes(poses, (4, 4), "poses")
    if isinstance(takes, FitFailure):
        return takes
    from fitting.frame_kernels import no_frame

    for k, take in enumerate(takes):
        row, defect = no_frame(take, _ROTATION_TOLERANCE, _BOTTOM_TOLERANCE)
        if row >= 0:
            where = f" of take {k}" if len(takes) > 1 else ""
            return FitFailure(
                f"Row {row}{where} of poses is no rigid frame (RᵀR is off by {defect:.3g}). "
                "Poses are 4×4 matrices [R t; 0 0 0 1] with a right-handed rotation R."
            )
    return takes


def too_few(count: int, needed: int, what: str) -> FitFailure:
    """Say that there are too few samples."""
    return FitFailure(
        f"{count} different samples are too few for {what}: at least {needed} are needed. Record a longer take."
    )


def too_large(points: Array) -> FitFailure | None:
    """Say that most points (n, 3) span more metres than any object, which means wrong units."""
    # The difference of the largest numbers is none.
    within = np.clip(points, -_ANYWHERE, _ANYWHERE)
    if np.ptp(within, axis=0).max() <= LARGEST_EXTENT:
        return None
    # Single wild samples are outliers, not units.
    low, high = np.quantile(within, [0.2, 0.8], axis=0)
    extent = float((high - low).max())
    if extent <= LARGEST_EXTENT:
        return None
    return FitFailure(f"The movement spans {extent:.0f} m. Are the coordinates in millimetres? They must be in metres.")


def as_noise(noise: float | None) -> float | None:
    """Check a noise level (m): None, or positive and finite."""
    return _as_deviation(noise, "noise", "to estimate it")


def as_distance(beside: float | None) -> float | None:
    """Check how far (m) from the axis a point may be: None, or positive and finite."""
    return _as_deviation(beside, "beside", "where it is not known")


def _as_deviation(given: float | None, name: str, without: str) -> float | None:
    if given is None:
        return None
    try:
        value = float(given)
    except (TypeError, ValueError):
        value = math.nan
    if not _FINEST <= value <= _COARSEST:
        raise ValueError(
            f"{name} is {given!r}: give a positive standard deviation in metres ({_FINEST:g} to {_COARSEST:g}), "
            f"or None {without}."
        )
    return value


def generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """Give a random generator; None means a fixed seed, so that the same data give the same fit."""
    try:
        return np.random.default_rng(0 if rng is None else rng)
    except (TypeError, ValueError):
        raise ValueError(f"rng is {rng!r}: give a seed (a whole number from 0 on) or a NumPy generator.") from None


def _is_several(data: Any, shape: tuple[int, ...]) -> bool:
    if isinstance(data, np.ndarray):
        return data.ndim == len(shape) + 2
    if not isinstance(data, Sequence) or isinstance(data, str | bytes):
        return False
    return len(data) == 0 or np.ndim(data[0]) == len(shape) + 1


def real(data: ArrayLike, name: str) -> NDArray[Any]:
    """Check that these are real numbers."""
    try:
        array = np.asarray(data)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths: an array of real numbers is needed.") from None
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{name} has the type {array.dtype}: real numbers are needed.")
    return array


def _as_array(take: ArrayLike, shape: tuple[int, ...], name: str) -> Array:
    array = real(take, name)
    if array.ndim != len(shape) + 1 or array.shape[1:] != shape:
        raise ValueError(f"{name} has the shape {array.shape}: (n, {_words(shape)}) is needed.")
    # Read-only arrays would make numba compile everything once more.
    return np.array(array, dtype=float, order="C")


def _words(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))
