"""What a fit gives back: parameters with their uncertainty, or a falsy failure that explains itself."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fitting.se3 import Array

Mask = NDArray[np.bool_]
Told = TypeVar("Told", bound="Fit")

_PER_SAMPLE = {"inliers", "orientations", "angles", "slides", "coordinates"}
"""Fields of fits that have one value for each sample."""


@dataclass(frozen=True)
class FitFailure:
    """A fit that could not be made. Falsy, so that ``if not fit: tell(fit.reason)`` reads as it should."""

    reason: str
    """What happened and what to do next, in plain words."""

    def __bool__(self) -> bool:
        return False

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form, with ``ok`` false."""
        return {"ok": False, "reason": self.reason}


@dataclass(frozen=True)
class Fit:
    """What every successful fit has."""

    inliers: Mask
    """Samples (n,) that agree with the final parameters and were used, in take order."""
    rms: float
    """Root mean square (m) of one residual component over the inliers."""
    noise: float
    """Position noise (m, standard deviation per axis) that the fit used: given, or estimated."""

    @property
    def samples(self) -> int:
        """Number of samples given."""
        return len(self.inliers)

    @property
    def inlier_share(self) -> float:
        """Share of the samples that the fit used, 0 to 1."""
        return float(self.inliers.mean()) if len(self.inliers) else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form: all fields that are for reading, arrays as lists."""
        values = {f.name: _plain(getattr(self, f.name)) for f in dataclasses.fields(self) if f.repr}
        return {"ok": True, "fit": type(self).__name__, **values}


@dataclass(frozen=True)
class AxisFit(Fit):
    """A fit of something with an axis: a line in space with the uncertainty of its tilt and shift."""

    basis: Array
    """(2, 3): two unit vectors that complete the axis to a right-handed frame."""
    covariance: Array
    """(4, 4): tilt of the axis along basis[0], basis[1] (rad), shift of it at ``point`` along the same (m)."""

    def __post_init__(self) -> None:
        # Inverting nearly singular information leaves rounding that is no covariance: a variance just below zero.
        symmetric = 0.5 * (self.covariance + self.covariance.T)
        if not _positive(symmetric.tolist()):
            values, vectors = np.linalg.eigh(symmetric)
            half = vectors * np.sqrt(np.maximum(values, 0.0))
            symmetric = half @ half.T
        object.__setattr__(self, "covariance", sealed(symmetric))

    @property
    def axis_std(self) -> float:
        """Standard deviation (rad) of the axis direction: root of the trace of the tilt covariance."""
        return math.sqrt(self.covariance[0, 0] + self.covariance[1, 1])

    @property
    def position_std(self) -> float:
        """Standard deviation (m) of the axis position perpendicular to it at ``point``, likewise."""
        return math.sqrt(self.covariance[2, 2] + self.covariance[3, 3])

    def to_dict(self) -> dict[str, Any]:
        """Give the JSON form, with the two standard deviations spelled out."""
        return {**super().to_dict(), "axis_std": self.axis_std, "position_std": self.position_std}


def _positive(matrix: list[list[float]]) -> bool:
    """Whether a small symmetric matrix has no direction of negative variance; quicker than asking for all of them."""
    for k, row in enumerate(matrix):
        if row[k] <= 0.0:
            return False
        for other in matrix[k + 1 :]:
            share = other[k] / row[k]
            for column in range(k + 1, len(row)):
                other[column] -= share * row[column]
    return True


def of_samples(fit: Told, numbers: NDArray[np.int64], used: Mask | None = None) -> Told:
    """A fit as if its samples had been those of these numbers (n,), of which only some were ``used`` (all: None).

    Numbers never fall, so that takes and grips stay one after the other.
    """
    values: dict[str, Any] = {}
    for field in dataclasses.fields(fit):
        if field.name in _PER_SAMPLE:
            own = np.asarray(getattr(fit, field.name))[numbers]
            values[field.name] = frozen(own & used if own.dtype == bool and used is not None else own, own.dtype.type)
    grips: tuple[Any, ...] = getattr(fit, "responses", ())
    if grips:
        ends = np.searchsorted(numbers, np.cumsum([one.samples for one in grips]))
        values["responses"] = tuple(
            dataclasses.replace(one, samples=int(count))
            for one, count in zip(grips, np.diff(ends, prepend=0), strict=True)
        )
    return dataclasses.replace(fit, **values)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value


def frozen(array: Any, dtype: type = float) -> Any:
    """Copy an array and make it read-only, so that a frozen result stays as it is."""
    result: NDArray[Any] = np.array(array, dtype=dtype)
    result.flags.writeable = False
    return result


def sealed(array: Any) -> Any:
    """The same array, which nobody else has, made read-only."""
    array.flags.writeable = False
    return array
