"""Order statistics inside compiled loops (numpy's own take seconds to compile)."""

import numpy as np

from fitting.compiled import compiled
from fitting.se3 import Array

_ENOUGH = 400
"""So many values, or up to twice as many, say enough about their median."""


@compiled
def select(values: Array, rank: int) -> float:
    """The value with ``rank`` smaller ones; ``values`` is reordered."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    result: float = values[rank]
    return result


@compiled
def median(values: Array) -> float:
    """The upper median; ``values`` is reordered."""
    return select(values, len(values) // 2)


@compiled
def median_where(values: Array, limit: float, spare: Array) -> tuple[float, int]:
    """Median of the values up to ``limit`` and their number, of one in so many; ``spare`` is room for them."""
    count = 0
    for i in range(0, len(values), max(len(values) // _ENOUGH, 1)):
        spare[count] = values[i]
        count += values[i] <= limit
    return (select(spare[:count], count // 2) if count else np.inf), count


@compiled
def median_of_some(values: Array) -> float:
    """The median of evenly spread ones of the values, which are left as they are."""
    step = max(len(values) // _ENOUGH, 1)
    spare = np.empty((len(values) + step - 1) // step)
    for i in range(len(spare)):
        spare[i] = values[i * step]
    return median(spare)
