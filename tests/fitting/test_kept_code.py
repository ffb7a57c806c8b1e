"""Kept machine code: the same results without the compiler, and never the code of something else."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fitting import machine_code

PART = """
from fitting.compiled import compiled

{constant}

@compiled
def scaled(x):
    return FACTOR * x
"""
WHOLE = """
import numpy as np
from fitting.compiled import compiled
from part import scaled

@compiled
def doubled(values, size, also):
    out = np.empty(size)
    for i in range(size):
        out[i] = scaled(values[i]) + (also[0] if also[1] else 0.0)
    return out, size
"""
VALUES = np.arange(3.0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    write(tmp_path, "FACTOR = 2.0")
    yield tmp_path
    machine_code.machine.cache_clear()
    for name in ("part", "whole"):
        sys.modules.pop(name, None)


def write(folder: Path, constant: str) -> None:
    (folder / "part.py").write_text(PART.format(constant=constant))
    (folder / "whole.py").write_text(WHOLE)


def loaded(folder: Path) -> Any:
    """The function, as another process would come to it."""
    from fitting import compiled

    compiled._text.cache_clear()
    for name in ("part", "whole"):
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules["whole"].__dict__["doubled"]


def from_kept_code(function: Any) -> bool:
    return "dispatcher" not in function.__dict__


def test_kept_code_gives_the_same_without_the_compiler(folder: Path) -> None:
    first, again = loaded(folder), loaded(folder)
    np.testing.assert_array_equal(first(VALUES, 3, (0.5, True))[0], 2 * VALUES + 0.5)
    out, size = again(VALUES, 3, (0.5, True))
    np.testing.assert_array_equal(out, 2 * VALUES + 0.5)
    assert size == 3
    assert from_kept_code(again)
    assert not from_kept_code(first)


def test_what_kept_code_raises_arrives(folder: Path) -> None:
    loaded(folder)(VALUES, 3, (0.5, True))
    function = loaded(folder)
    with pytest.raises(ValueError, match="negative dimensions"):
        function(VALUES, -1, (0.5, True))
    assert from_kept_code(function)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.arange(6.0)[::2], id="strided"),
        pytest.param(np.arange(3), id="integers"),
        pytest.param(np.arange(3.0).astype(">f8").astype("<f4"), id="single precision"),
    ],
)
def test_other_arguments_are_compiled_for(folder: Path, values: np.ndarray) -> None:
    loaded(folder)(VALUES, 3, (0.5, True))
    function = loaded(folder)
    np.testing.assert_array_equal(function(values, 3, (0.5, False))[0], 2.0 * values)
    assert not from_kept_code(function)


def test_a_constant_that_changed_in_another_file_is_seen(folder: Path) -> None:
    loaded(folder)(VALUES, 3, (0.0, False))
    write(folder, "FACTOR = 5.0")
    np.testing.assert_array_equal(loaded(folder)(VALUES, 3, (0.0, False))[0], 5 * VALUES)


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "foreign"])
def test_damaged_code_is_not_run(folder: Path, damage: str) -> None:
    loaded(folder)(VALUES, 3, (0.5, True))
    (kept,) = folder.glob("__pycache__/whole.doubled-*.code")
    code = bytearray(kept.read_bytes())
    code[-2000] ^= 0x40
    kept.write_bytes({"cut": code[:-100], "flipped": code, "empty": b"", "foreign": b"{}\nx"}[damage])
    np.testing.assert_array_equal(loaded(folder)(VALUES, 3, (0.5, True))[0], 2 * VALUES + 0.5)


def test_code_for_another_machine_is_not_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded(folder)(VALUES, 3, (0.5, True))
    machine_code.machine.cache_clear()
    monkeypatch.setattr(machine_code.llvm, "get_host_cpu_name", lambda: "another")
    function = loaded(folder)
    np.testing.assert_array_equal(function(VALUES, 3, (0.5, True))[0], 2 * VALUES + 0.5)
    assert not from_kept_code(function)


def test_a_missing_symbol_sends_to_the_compiler(folder: Path) -> None:
    loaded(folder)(VALUES, 3, (0.5, True))
    (kept,) = folder.glob("__pycache__/whole.doubled-*.code")
    kept.write_bytes(kept.read_bytes().replace(b'"needed": [', b'"needed": ["nowhere_to_be_found", ', 1))
    function = loaded(folder)
    np.testing.assert_array_equal(function(VALUES, 3, (0.5, True))[0], 2 * VALUES + 0.5)
    assert not from_kept_code(function)
