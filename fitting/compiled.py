"""Compile numeric functions with numba, and keep the machine code so that it can be used without numba."""

from collections.abc import Callable
from functools import cache, cached_property, partial, update_wrapper
from hashlib import sha256
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from fitting.kept import Kinds, keep, kept, kinds

Function = TypeVar("Function", bound=Callable[..., object])

_ANY_ORDER = {"reassoc", "contract", "arcp", "nsz"}


def compiled(function: Function) -> Function:
    """Compile ``function`` at its first call and keep the machine code beside the source."""
    return cast(Function, Kernel(function, {}))


def summed(function: Function) -> Function:
    """Compile a loop of sums, which may be taken in any order so that several samples go at once.

    Infinities and NaN keep their meaning; the same input still gives the same output.
    """
    return cast(Function, Kernel(function, {"fastmath": _ANY_ORDER}))


def with_parts(function: Function, name: str, parts: dict[str, Callable[..., object]]) -> Function:
    """``function`` under another name, with other functions in the place of those that it calls by these names.

    One algorithm serves many models so: run as it is, or compiled with each model's own loops inside.
    """
    plain = cast(Any, function)
    made = FunctionType(plain.__code__, {**plain.__globals__, **parts}, name, plain.__defaults__)
    made.__qualname__ = name
    return cast(Function, made)


class Kernel:
    """A function with the machine code that is kept of it; for other arguments numba is loaded, and compiles it."""

    def __init__(self, function: Callable[..., object], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._function, self._options = cast(FunctionType, function), options
        self._source = Path(self._function.__code__.co_filename)
        self._ready: dict[Kinds, Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run the machine code."""
        given = kinds(arguments)
        ready = self._ready.get(given)
        return self._found(given, arguments) if ready is None else ready(*arguments)

    @cached_property
    def stamp(self) -> str:
        """Of all that its machine code is made from: it contains the functions that it calls, and constants."""
        parts = [(name, used.stamp) for name, used in self._uses.items() if isinstance(used, Kernel)]
        constants = [(name, used) for name, used in self._uses.items() if isinstance(used, int | float | tuple | str)]
        made_of = (_text(self._source), self._function.__qualname__, sorted(parts), sorted(constants, key=repr))
        return sha256(repr((*made_of, sorted(self._options))).encode()).hexdigest()

    @cached_property
    def dispatcher(self) -> Any:
        """The function as numba knows it."""
        import numba

        inside = {name: used.dispatcher for name, used in self._uses.items() if isinstance(used, Kernel)}
        function = with_parts(self._function, self._function.__qualname__, inside)
        # error_model: a check at every division would block vectorisation (4 times slower).
        dispatcher = numba.njit(cache=True, error_model="numpy", nogil=True, **self._options)(function)
        return _loading_without_the_compiler(dispatcher, self.stamp)

    @property
    def _uses(self) -> dict[str, Any]:
        known = self._function.__globals__
        return {name: known[name] for name in self._function.__code__.co_names if name in known}

    def _found(self, given: Kinds, arguments: tuple[Any, ...]) -> Any:
        """Run it for the first time with such arguments."""
        name = self._function.__qualname__
        ready = kept(self._source, name, self.stamp, given)
        if ready is not None:
            self._ready[given] = ready
            return ready(*arguments)
        self._ready[given] = dispatcher = self.dispatcher
        result = dispatcher(*arguments)
        made = _machine_code(dispatcher, arguments)
        if made is not None:
            keep(self._source, name, self.stamp, given, *made)
        return result


@cache
def _text(source: Path) -> str:
    try:
        return sha256(source.read_bytes()).hexdigest()
    except OSError:
        return ""


def _machine_code(dispatcher: Any, arguments: tuple[Any, ...]) -> tuple[bytes, dict[str, object]] | None:
    """The object file for arguments that were compiled for, and what a linker must know of it; None: it is not told."""
    cache_ = getattr(dispatcher, "_cache", None)
    file = getattr(cache_, "_cache_file", None)
    if file is None:
        return None
    signature = tuple(dispatcher.typeof_pyval(value) for value in arguments)
    reduced = file.load(cast(Any, cache_)._index_key(signature, dispatcher.targetctx.codegen()))  # noqa: SLF001
    if reduced is None:
        return None
    (_, kind, (code, *_)), about, environment, *_, at_start, others = reduced
    constants = {used.env_name: used.consts for used in (environment, *others)}
    plain = all(isinstance(value, np.dtype) for values in constants.values() for value in values)
    if kind != "object" or at_start or not plain:
        return None
    named = {symbol: [value.str for value in values] for symbol, values in constants.items()}
    return code, {"wrapper": about.llvm_cpython_wrapper_name, "constants": named}


def _loading_without_the_compiler(dispatcher: Any, stamp: str) -> Any:
    """Let numba's own cache be read without the compiler, and only if nothing that is in it has changed since.

    numba prepares its whole compiler, SciPy's linear algebra included, before it looks whether there is anything to
    compile: 0.3 s. Loading needs only its runtime; where nothing is kept, compiling prepares the rest itself. And it
    looks whether one file has changed, whereas machine code contains the functions that are called, from other files.
    """
    from numba.core import caching

    cache_ = getattr(dispatcher, "_cache", None)
    if isinstance(cache_, caching.FunctionCache):
        cast(Any, cache_).load_overload = partial(_load, cache_)
        cast(Any, cache_)._cache_file._source_stamp = stamp  # noqa: SLF001
    return dispatcher


def _load(cache_: Any, signature: object, target_context: Any) -> Any:
    """Machine code for a signature; None where it has to be compiled."""
    from numba.core.runtime import nrt

    cast(Any, nrt.rtsys).initialize(target_context)
    with cache_._guard_against_spurious_io_errors():  # noqa: SLF001
        return cache_._load_overload(signature, target_context)  # noqa: SLF001
