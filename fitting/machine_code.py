"""Machine code that numba made, brought to life by LLVM's linker alone: numba itself takes half a second to load.

Numba's small C libraries are used as they are. What the code asks of numba's Python, to unpickle constants, is here.
"""

import ctypes
import os
import pickle
import platform
import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

_UNIMPORTANT = ("NUMBA_NUM_THREADS", "NUMBA_CACHE_DIR")
"""Settings of numba by which its machine code does not change."""
_SECTION = np.dtype("<u4, <u4, <u8, <u8, <u8, <u8, <u4, <u4, <u8, <u8")
_SYMBOL = np.dtype("<u4, u1, u1, <u2, <u8, <u8")
_SYMBOLS_HERE = 2
"""Type of the section of an ELF file that lists its symbols."""


@cache
def machine() -> str:
    """Everything besides a function's source on which its machine code depends."""
    settings = {k: v for k, v in sorted(os.environ.items()) if k.startswith("NUMBA_") and k not in _UNIMPORTANT}
    compiler = (_numba() / "_version.py").read_text(encoding="utf-8")
    cpu = (llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    return repr((sys.version, platform.machine(), np.__version__, llvmlite.__version__, compiler, cpu, settings))


def needed_symbols(code: bytes) -> list[str] | None:
    """Names that an object file expects elsewhere; None where it is none of those that we can read."""
    if code[:6] != b"\x7fELF\x02\x01":
        return None
    offset, count = int.from_bytes(code[0x28:0x30], "little"), int.from_bytes(code[0x3C:0x3E], "little")
    sections = np.frombuffer(code, _SECTION, count, offset)
    needed: set[str] = set()
    for section in sections[sections["f1"] == _SYMBOLS_HERE]:
        symbols = np.frombuffer(code, _SYMBOL, int(section["f5"]) // _SYMBOL.itemsize, int(section["f4"]))
        names = int(sections[section["f6"]]["f4"])
        for name in symbols["f0"][(symbols["f3"] == 0) & (symbols["f0"] > 0)]:
            start = names + int(name)
            needed.add(code[start : code.index(b"\0", start)].decode())
    return sorted(needed)


def linked(
    code: bytes, needed: Sequence[str], wrapper: str, name: str, constants: dict[str, list[np.dtype[Any]]]
) -> Callable[..., Any] | None:
    """A Python function from an object file, or None where something is missing that it needs.

    wrapper: the symbol of its Python wrapper; constants: what it and those in it refer to, by the symbols of their
    environments, its own first.
    """
    engine, library, known = _linker()
    if not all(symbol in known or llvm.address_of_symbol(symbol) for symbol in needed):
        return None
    known.update(needed)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    own: Any = None
    for symbol, values in constants.items():
        environment = library.Environment(globals())
        environment.consts.extend(values)
        own = own or environment
        _environments.append(environment)
        ctypes.c_void_p.from_address(engine.get_global_value_address(symbol)).value = id(environment)
    address = engine.get_function_address(wrapper)
    function: Callable[..., Any] = library.make_function(sys.modules[__name__], name, "", address, own, None)
    return function


@cache
def _linker() -> tuple[Any, Any, set[str]]:
    """LLVM's linker with numba's libraries known to it, the one of them that makes functions, and symbols found."""
    helpers, memory = _extension("_helperlib"), _extension("core.runtime._nrt_python")
    functions = _extension("_dynfunc")
    symbols = {f"numba_{name}": at for helper in (helpers, functions) for name, at in helper.c_helpers.items()}
    symbols |= {name if name[0] == "_" else f"NRT_{name}": at for name, at in memory.c_helpers.items()}
    symbols |= {f"PyExc_{kind.__name__}": id(kind) for kind in _exceptions()}
    symbols |= {"_Py_NoneStruct": id(None), "numba_unpickle": ctypes.cast(_unpickle, ctypes.c_void_p).value}
    for name, at in symbols.items():
        # Where numba is loaded it has said all of this itself.
        if not llvm.address_of_symbol(name):
            llvm.add_symbol(name, at)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), target), functions, set(symbols)


def _exceptions() -> list[type[BaseException]]:
    kinds = vars(sys.modules["builtins"]).values()
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseException)]


def _numba() -> Path:
    spec = find_spec("numba")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("numba is not installed")
    return Path(spec.submodule_search_locations[0])


def _extension(name: str) -> Any:
    """A C library of numba, without the package around it."""
    full = f"numba.{name}"
    if "numba" in sys.modules:
        return import_module(full)
    stem = _numba().joinpath(*name.split("."))
    file = next(path for suffix in EXTENSION_SUFFIXES if (path := stem.with_name(stem.name + suffix)).exists())
    loader = ExtensionFileLoader(full, str(file))
    spec = spec_from_file_location(full, file, loader=loader)
    module: ModuleType = module_from_spec(spec) if spec else import_module(full)
    loader.exec_module(module)
    return module


_environments: list[object] = []
"""Machine code refers to them without counting. A function that two threads linked uses those of the later."""
_constants: dict[tuple[int, int], object] = {}


def _unpickled(data: int, size: int, digest: int) -> object:
    """A constant that numba's code keeps pickled: the type of arrays, and what it raises."""
    if (data, digest) not in _constants:
        _constants[data, digest] = pickle.loads(ctypes.string_at(data, size))  # noqa: S301 - from our own machine code
    return _constants[data, digest]


_unpickle = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(_unpickled)
"""The same for machine code."""
