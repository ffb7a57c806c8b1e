"""Fits of takes in progress: feed samples, ask at any time; a query costs the same however long the take is."""

from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitting.checks import real
from fitting.result import Fit, FitFailure
from fitting.se3 import Array

Result = TypeVar("Result", bound=Fit)

_POINTS, _POSES = 1024, 128
"""Samples kept of points, and of poses."""


class Online(Generic[Result]):
    """A live fit on an evenly thinned copy of the take.

    The copy keeps every k-th sample; whenever it is full, every other sample goes and k doubles. So it always spans
    the whole take evenly with between half of ``capacity`` and ``capacity`` samples, and the stated uncertainty is
    honest for what it holds (the final fit on the whole take is better by up to the root of k).

    fitter: any of the fitters of this package; capacity: samples kept, None: as many as a query of a few milliseconds
    can take (points cost a twentieth of poses); noise: as for the fitter.
    """

    def __init__(
        self,
        fitter: Callable[..., Result | FitFailure],
        capacity: int | None = None,
        noise: float | None = None,
        rng: int | None = None,
    ) -> None:
        if capacity is not None and (np.asarray(capacity).dtype.kind not in "iu" or capacity < 16):
            raise ValueError(f"capacity is {capacity!r}: at least 16 samples are needed to follow a movement.")
        self._fitter = fitter
        self._capacity = capacity
        self._noise = noise
        self._rng = rng
        self._kept: list[Array] = []
        self._stride = 1
        self._count = 0
        self._current: Result | FitFailure | None = None

    @property
    def count(self) -> int:
        """Samples fed so far."""
        return self._count

    @property
    def indices(self) -> NDArray[np.int64]:
        """Which of the fed samples the current fit looks at: its ``inliers`` and coordinates belong to these."""
        return np.arange(len(self._kept), dtype=np.int64) * self._stride

    def feed(self, samples: ArrayLike) -> None:
        """Add one sample, a point (3,) or a pose (4, 4), or several of them (n, …). Samples not finite are left out."""
        array = real(samples, "samples").astype(float)
        single = array.shape in ((3,), (4, 4))
        if array.size and not single and array.shape[1:] not in ((3,), (4, 4)):
            raise ValueError(f"samples has the shape {array.shape}: points (n, 3) or poses (n, 4, 4) are needed.")
        capacity = self._capacity or (_POINTS if array.shape[-1:] == (3,) else _POSES)
        for sample in array[None] if single else array:
            if not np.isfinite(sample).all():
                continue
            if self._count % self._stride == 0:
                if len(self._kept) == capacity:
                    self._kept = self._kept[::2]
                    self._stride *= 2
                if self._count % self._stride == 0:
                    self._kept.append(sample.copy())
                    self._current = None
            self._count += 1

    def fit(self) -> Result | FitFailure:
        """The fit of the take so far, with its uncertainty."""
        if not self._kept:
            return FitFailure("No samples yet. Move the joint.")
        if self._current is None:
            self._current = self._fitter(np.array(self._kept), noise=self._noise, rng=self._rng)
        return self._current
