"""Machine code of compiled functions, kept beside their source for processes that do not load the compiler.

A file is a line of JSON and an object file. It is used only where the source, all that is compiled with it, the
processor and the versions are those for which it was made.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np

_SCALARS: dict[type, type] = {float: float, np.float64: float, int: int, np.int64: int, bool: bool, np.bool: bool}
_C, _F, _PLAIN = 0x1, 0x2, 0x500
"""Flags of an array: order of its elements; aligned and writeable."""

Kinds = tuple[Any, ...]
"""Of each argument what the machine code depends on; None: that is not known here."""


def kinds(arguments: Sequence[object]) -> Kinds:
    """What the compiler would tell apart, of each argument."""
    return tuple([_kind(value) for value in arguments])


def _kind(value: object) -> object:
    if type(value) is np.ndarray:
        flags = value.flags.num
        return value.dtype, value.ndim, flags & (_PLAIN | _C if flags & _C else _PLAIN | _F)
    if type(value) is tuple:
        return tuple([_kind(part) for part in value])
    return _SCALARS.get(type(value))


def kept(source: Path, name: str, stamp: str, arguments: Kinds) -> Callable[..., Any] | None:
    """The function for such arguments, if its machine code is kept and was made of the same for a machine like this."""
    try:
        text, _, code = _file(source, name, arguments).read_bytes().partition(b"\n")
        told = json.loads(text)
        from fitting.machine_code import linked, machine

        if (told["stamp"], told["machine"], told["digest"]) != (stamp, machine(), sha256(code).hexdigest()):
            return None
        constants = {symbol: [np.dtype(value) for value in values] for symbol, values in told["constants"].items()}
        return linked(code, told["needed"], told["wrapper"], name, constants)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError, ImportError):
        # Whatever is wrong with it: the compiler makes it again.
        return None


def keep(source: Path, name: str, stamp: str, arguments: Kinds, code: bytes, about: dict[str, object]) -> None:
    """Keep machine code for such arguments, if that can be done here; ``about`` is told to the linker."""
    from fitting.machine_code import machine, needed_symbols

    needed = needed_symbols(code)
    if needed is None or not _known(arguments):
        return
    told = {"machine": machine(), "stamp": stamp, "digest": sha256(code).hexdigest(), "needed": needed, **about}
    file = _file(source, name, arguments)
    with suppress(OSError):
        # Nobody reads half a file, and where this cannot be written the compiler is loaded as before.
        with NamedTemporaryFile(dir=file.parent, delete=False) as unfinished:
            unfinished.write(json.dumps(told).encode() + b"\n" + code)
        Path(unfinished.name).replace(file)


def _file(source: Path, name: str, arguments: Kinds) -> Path:
    ending = sha256(repr(arguments).encode()).hexdigest()[:16]
    return source.parent / "__pycache__" / f"{source.stem}.{name}-{ending}.code"


def _known(arguments: Kinds) -> bool:
    return all(_known(kind) if isinstance(kind, tuple) else kind is not None for kind in arguments)
