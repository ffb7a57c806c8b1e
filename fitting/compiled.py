"""Compile numeric functions with numba, cached on disk. Imported only when a fit runs: numba loads slowly."""

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile ``function`` at its first call and keep the machine code beside the source.

    ``error_model="numpy"``: a check at every division would block vectorisation (4 times slower).
    """
    return cast(Function, numba.njit(cache=True, error_model="numpy", nogil=True)(function))


def summed(function: Function) -> Function:
    """Compile a loop of sums, which may be taken in any order so that several samples go at once.

    Infinities and NaN keep their meaning; the same input still gives the same output.
    """
    allowed = {"reassoc", "contract", "arcp", "nsz"}
    return cast(Function, numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=allowed)(function))
