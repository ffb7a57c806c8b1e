"""Order statistics inside compiled loops (numpy's own take seconds to compile)."""

import numpy as np

from fitting.compiled import compiled
from fitting.se3 import Array


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
    """Median of the values up to ``limit`` and their number; ``spare`` is room of the same length."""
    count = 0
    for i in range(len(values)):
        if values[i] <= limit:
            spare[count] = values[i]
            count += 1
    return (select(spare[:count], count // 2) if count else np.inf), count
