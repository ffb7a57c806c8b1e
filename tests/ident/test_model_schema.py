import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from model_cases import random_tree

from ident.model import model_text, parse_model
from ident.model.schema import json_schema
from ident.model.text import locate, pretty

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", ["docs/model.schema.json", "ident/model/model.schema.json"])
def test_the_published_schema_is_the_program_s(path: str) -> None:
    assert json.loads((ROOT / path).read_text(encoding="utf-8")) == json_schema()


@pytest.mark.parametrize("seed", range(10))
def test_saved_models_follow_the_schema(seed: int) -> None:
    document = json.loads(model_text(random_tree(np.random.default_rng(seed))))
    jsonschema.Draft202012Validator(json_schema()).validate(document)


def test_the_page_s_example_is_a_model() -> None:
    page = (ROOT / "docs" / "model-format.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert parse_model(text).joint_names == ("hinge",)


def test_lines_of_values() -> None:
    text = '{\n "a": [1,\n  {"b": "x\\"]}", "c": []}],\n "d": null}'
    lines, doubles = locate(text)
    assert doubles == []
    assert lines == {
        (): 1,
        ("a",): 2,
        ("a", 0): 2,
        ("a", 1): 3,
        ("a", 1, "b"): 3,
        ("a", 1, "c"): 3,
        ("d",): 4,
    }


def test_pretty_text_reads_back() -> None:
    value = {
        "a": [1.5, 2, None],
        "b": {"c": [[1, 2], [3, 4]], "d": {}},
        "e": "ö",
        "f": [{"g": 1}],
        "h": list(range(60)),
    }
    assert json.loads(pretty(value)) == value
    assert max(map(len, pretty(value).splitlines())) < 120
