"""Compile numeric functions with numba, cached on disk. Imported only when a fit runs: numba loads slowly."""

from collections.abc import Callable
from functools import partial
from hashlib import sha256
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core import caching
from numba.core.runtime import nrt

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile ``function`` at its first call and keep the machine code beside the source.

    ``error_model="numpy"``: a check at every division would block vectorisation (4 times slower).
    """
    return cast(Function, _kept(numba.njit(cache=True, error_model="numpy", nogil=True)(function)))


def summed(function: Function) -> Function:
    """Compile a loop of sums, which may be taken in any order so that several samples go at once.

    Infinities and NaN keep their meaning; the same input still gives the same output.
    """
    allowed = {"reassoc", "contract", "arcp", "nsz"}
    return cast(Function, _kept(numba.njit(cache=True, error_model="numpy", nogil=True, fastmath=allowed)(function)))


def with_parts(function: Function, name: str, parts: dict[str, Callable[..., object]]) -> Function:
    """``function`` under another name, with other functions in the place of those that it calls by these names.

    One algorithm serves many models so: run as it is, or compiled with each model's own loops inside.
    """
    plain = cast(Any, function)
    made = FunctionType(plain.__code__, {**plain.__globals__, **parts}, name, plain.__defaults__)
    made.__qualname__ = name
    return cast(Function, made)


def _kept(dispatcher: Any) -> Any:
    """Let kept machine code be loaded without the compiler, and only if nothing in it has changed since.

    numba prepares its whole compiler, SciPy's linear algebra included, before it looks whether there is anything to
    compile: 0.3 s. Loading needs only its runtime; where nothing is kept, compiling prepares the rest itself. And it
    looks whether one file has changed, whereas machine code contains the functions that are called, from other files.
    """
    cache = dispatcher._cache  # noqa: SLF001
    if isinstance(cache, caching.FunctionCache):
        cast(Any, cache).load_overload = partial(_load, cache)
        function = dispatcher.py_func
        called = (function.__globals__.get(name) for name in function.__code__.co_names)
        stamps = [other.stamp for other in called if hasattr(other, "stamp")]
        file = cast(Any, cache)._cache_file  # noqa: SLF001
        dispatcher.stamp = file._source_stamp = sha256(repr((file._source_stamp, *stamps)).encode()).digest()  # noqa: SLF001
    return dispatcher


def _load(cache: Any, signature: object, target_context: Any) -> Any:
    """Machine code for a signature; None where it has to be compiled."""
    cast(Any, nrt.rtsys).initialize(target_context)
    with cache._guard_against_spurious_io_errors():  # noqa: SLF001
        return cache._load_overload(signature, target_context)  # noqa: SLF001
