"""A running take in bounded size: poses spread evenly over it, however long it lasts."""

import numpy as np

from fitting.se3 import Array
from ident.takes import Ints, TakeData

CAPACITY = 400
"""Poses that a sketch holds at most. A fit to 200 to 400 of them takes milliseconds, and its uncertainty is
at least that of the whole take: the operator is never promised too much."""


class Sketch:
    """Keeps every ``stride``-th value; when it is full, every other one is dropped and the stride doubles."""

    def __init__(self, shape: tuple[int, ...] = (4, 4), capacity: int = CAPACITY) -> None:
        self._shape = shape
        self._capacity = capacity
        self._t_ns: list[Ints] = []
        self._values: list[Array] = []
        self._stride = 1
        self._seen = 0
        self._kept = 0

    @property
    def seen(self) -> int:
        """Values that were fed."""
        return self._seen

    def feed(self, t_ns: Ints, values: Array) -> None:
        """Add values (n, *shape) with their host times (n,), later than all before."""
        # Index in the whole take decides what is kept, so that the pieces in which it came do not matter.
        first = -self._seen % self._stride
        self._seen += len(t_ns)
        self._t_ns.append(t_ns[first :: self._stride])
        self._values.append(values[first :: self._stride])
        self._kept += len(self._t_ns[-1])
        while self._kept > self._capacity:
            times, values = self.columns()
            self._stride *= 2
            self._t_ns, self._values = [times[::2]], [values[::2]]
            self._kept = len(self._t_ns[0])

    def columns(self) -> tuple[Ints, Array]:
        """Host times (m,) and values (m, *shape) that were kept."""
        if not self._t_ns:
            return np.zeros(0, dtype=np.int64), np.zeros((0, *self._shape))
        self._t_ns, self._values = [np.concatenate(self._t_ns)], [np.concatenate(self._values)]
        return self._t_ns[0], self._values[0]


def thinned(data: TakeData, capacity: int = CAPACITY) -> TakeData:
    """Give a finished take in the size of a sketch."""
    stride = -(-data.measured // capacity) if data.measured else 1
    return TakeData(data.t_ns[::stride], data.poses[::stride], data.samples, data.longest_loss_s)
