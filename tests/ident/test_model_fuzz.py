"""Damaged model and URDF files: a list of problems each time, never anything else."""

import copy
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from model_cases import door, random_tree

from ident.export import render_urdf
from ident.joints.problems import ModelError
from ident.model import model_text, parse_model
from ident.model.urdf import parse_urdf

RUNS = 1000
WRONG: list[Any] = [
    None,
    True,
    -1,
    0,
    1e308,
    "",
    "x",
    "root",
    "NaN",
    [],
    {},
    [[]],
    [1, 2],
    {"a": 1},
    10**30,
    10**400,
    "\u0000",
]
BYTES = b'{}[]":,<>/=&0123456789.eE+- \n\\truefalsnNaIy'


def damaged_bytes(text: str, rng: np.random.Generator) -> str:
    """Flip, drop, double or swap a few stretches of text."""
    data = bytearray(text.encode())
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(data)))
        stretch = int(rng.integers(1, 30))
        kind = rng.integers(4)
        if kind == 0:
            data[at] = int(rng.choice(list(BYTES)))
        elif kind == 1:
            del data[at : at + stretch]
        elif kind == 2:
            data[at:at] = data[at : at + stretch]
        else:
            data[at : at + 1] = bytes(rng.integers(32, 256, stretch, dtype=np.uint8))
        if not data:
            break
    return data.decode("utf-8", errors="replace")


def damaged_values(text: str, rng: np.random.Generator) -> str:
    """Put wrong values in the place of right ones, drop keys, double entries."""
    document = json.loads(text)
    for _ in range(int(rng.integers(1, 4))):
        holder: Any = document
        while True:
            keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = keys[int(rng.integers(len(keys)))]
            if isinstance(holder[key], dict | list) and rng.random() < 0.75:
                holder = holder[key]
                continue
            kind = rng.random()
            if kind < 0.2:
                del holder[key]
            elif kind < 0.3 and isinstance(holder, list):
                holder.append(holder[key])
            else:
                holder[key] = copy.deepcopy(WRONG[int(rng.integers(len(WRONG)))])
            break
    return json.dumps(document)


def survives(read: Callable[[str], Any], text: str) -> bool:
    """Whether the text was read; a ModelError with something to say is the only other way."""
    problem = ""
    try:
        read(text)
    except ModelError as error:
        problem = str(error)
        if not 10 < len(problem) < 20_000:
            raise
    return not problem


@pytest.mark.parametrize("damage", [damaged_bytes, damaged_values])
def test_damaged_models(damage: Callable[[str, np.random.Generator], str]) -> None:
    rng = np.random.default_rng(1)
    texts = [model_text(door()), *(model_text(random_tree(rng, nodes=5)) for _ in range(3))]
    read = sum(survives(parse_model, damage(texts[i % len(texts)], rng)) for i in range(RUNS // 2))
    # Some damage is harmless, most is not.
    assert read < RUNS // 4


def test_whatever_is_read_can_be_used() -> None:
    rng = np.random.default_rng(2)
    text = model_text(door())
    for _ in range(200):
        damaged = damaged_values(text, rng)
        if survives(parse_model, damaged):
            tree = parse_model(damaged)
            assert tree.validate() == []
            for name in tree.nodes:
                assert np.isfinite(tree.pose(name, {}, check_limits=False)).all()
            assert parse_model(model_text(tree)) == tree


def test_damaged_urdf() -> None:
    rng = np.random.default_rng(3)
    texts = [render_urdf(door()).text, *(render_urdf(random_tree(rng, nodes=5)).text for _ in range(3))]
    read = sum(survives(parse_urdf, damaged_bytes(texts[i % len(texts)], rng)) for i in range(RUNS // 2))
    assert read < RUNS // 3
