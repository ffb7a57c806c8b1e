import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_cases import door, random_tree

from ident.joints.problems import ModelError
from ident.model import load_model, model_text, parse_model, save_model
from ident.model import migrate as migration


def edited(change: Callable[[dict[str, Any]], object]) -> str:
    document = json.loads(model_text(door()))
    change(document)
    return json.dumps(document, indent=1)


def test_saving_and_loading_changes_nothing(tmp_path: Path) -> None:
    for seed in range(200):
        tree = random_tree(np.random.default_rng(seed))
        save_model(tree, tmp_path / "a.model.json")
        again = load_model(tmp_path / "a.model.json")
        assert again == tree
        save_model(again, tmp_path / "b.model.json")
        assert (tmp_path / "a.model.json").read_bytes() == (tmp_path / "b.model.json").read_bytes()


def test_joints_without_stops_survive() -> None:
    text = edited(lambda d: d["joints"][0]["limits"].update(turn_rad=[None, None]))
    tree = parse_model(text)
    assert tree.limits["hinge"] == (-np.inf, np.inf)
    assert parse_model(model_text(tree)) == tree


def test_unknown_fields_survive_at_every_level() -> None:
    def add(d: dict[str, Any]) -> None:
        d["couplings"] = [{"joint": "lever", "of": "hinge"}]
        d["joints"][0]["condition"] = {"while": "lever", "above": 0.3}
        d["joints"][0]["origin"]["comment"] = "measured twice"
        d["joints"][0]["evidence"]["operator"] = "A"
        d["handles"][0]["photo"] = "bar.jpg"
        d["provenance"]["room"] = 7

    document = json.loads(model_text(parse_model(edited(add))))
    assert document["couplings"] == [{"joint": "lever", "of": "hinge"}]
    assert document["joints"][0]["condition"] == {"while": "lever", "above": 0.3}
    assert document["joints"][0]["origin"]["comment"] == "measured twice"
    assert document["joints"][0]["evidence"]["operator"] == "A"
    assert document["handles"][0]["photo"] == "bar.jpg"
    assert document["provenance"]["room"] == 7


def test_a_quaternion_may_stand_for_the_axes() -> None:
    def change(d: dict[str, Any]) -> None:
        d["joints"][0]["origin"] = {"position_m": [0, 0, 1], "quaternion_xyzw": [0, 0, 0.70710678, 0.70710678]}

    hinge = parse_model(edited(change))["hinge"]
    assert hinge.origin[:3, 0] == pytest.approx([0.0, 1.0, 0.0])


BAD: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "cycle": (lambda d: d["joints"][0].update(parent="lever"), "cycle: hinge → lever → hinge"),
    "missing parent": (lambda d: d["joints"][1].update(parent="wall"), "'wall' does not exist; there are: root, hinge"),
    "hangs on a handle": (lambda d: d["joints"][1].update(parent="bar"), "nothing hangs on a handle"),
    "two of one name": (lambda d: d["joints"][1].update(name="hinge"), "twice"),
    "NaN": (lambda d: d["joints"][0]["origin"].update(position_m=[0, float("nan"), 0]), "nan is not a finite number"),
    "zero axis": (lambda d: d["joints"][0]["origin"].update(axis=[0, 0, 0]), "axis is zero"),
    "long axis": (lambda d: d["joints"][0]["origin"].update(axis=[0, 0, 2]), "length 2"),
    "x along the axis": (lambda d: d["joints"][0]["origin"].update(x_axis=[0, 0, 1]), "parallel"),
    "limits upside down": (lambda d: d["joints"][0]["limits"].update(turn_rad=[1, 0]), "upside down"),
    "limits missing": (lambda d: d["joints"][0].pop("limits"), "turn_rad is missing"),
    "limits of a slide": (lambda d: d["joints"][0]["limits"].update(slide_m=[0, 1]), "no such coordinate"),
    "not unit": (
        lambda d: d["joints"][0].update(origin={"position_m": [0, 0, 0], "quaternion_xyzw": [1, 1, 0, 0]}),
        "quaternion_xyzw has the length 1.41421",
    ),
    "text for a number": (lambda d: d["joints"][0].update(radius_m="0.3"), "'0.3' is not a number up to 1e+09"),
    "two numbers": (lambda d: d["joints"][0]["origin"].update(position_m=[0, 1]), "at least 3"),
    "unknown type": (lambda d: d["joints"][0].update(type="spiral"), "known are: fixed, prismatic, rotary"),
    "negative radius": (lambda d: d["handles"][0].update(radius_m=-0.1), "radius"),
    "no list": (lambda d: d.update(handles={}), "not a list"),
    "no object": (lambda d: d["joints"].append(3), "joints/2"),
    "no name": (lambda d: d.pop("name"), "name: field required"),
    "covariance": (lambda d: d["joints"][0]["evidence"].update(covariance=[[1]]), "neither 4×4 nor 6×6"),
    "asymmetric covariance": (
        lambda d: d["joints"][0]["evidence"]["covariance"][0].__setitem__(1, 1.0),
        "not symmetric",
    ),
    "negative variance": (
        lambda d: d["joints"][0]["evidence"].update(covariance=np.diag([1.0, 1.0, -1.0, 1.0]).tolist()),
        "negative variance",
    ),
    "basis": (lambda d: d["joints"][0]["evidence"].update(basis=[[2, 0, 0], [0, 1, 0]]), "basis/0 has the length 2"),
    "inliers": (lambda d: d["joints"][0]["evidence"].update(inliers=5000), "5000 inliers among 1200"),
    "deep": (lambda d: d.update(x=json.loads("[" * 60 + "]" * 60)), "nested more than 50"),
    "future": (lambda d: d.update(version=9), "Update ident"),
    "version": (lambda d: d.update(version="1"), "version '1'"),
    "other format": (lambda d: d.update(format="x"), "no model"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_bad_models_get(case: str) -> None:
    change, expected = BAD[case]
    with pytest.raises(ModelError) as caught:
        parse_model(edited(change))
    assert expected in str(caught.value)


def test_every_problem_at_once_with_its_line() -> None:
    def change(d: dict[str, Any]) -> None:
        d["joints"][0]["limits"]["turn_rad"] = [2, 1]
        d["joints"][1]["parent"] = "wall"
        d["handles"][0]["origin"]["axis"] = [0, 0, 0]

    text = edited(change)
    with pytest.raises(ModelError) as caught:
        parse_model(text, "x.model.json")
    assert len(caught.value.problems) == 3
    lines = text.splitlines()
    for problem, part in zip(caught.value.problems, ("{", '"wall"', '"origin"'), strict=True):
        assert problem.line is not None
        assert part in lines[problem.line - 1]


def test_double_keys_are_found() -> None:
    text = model_text(door()).replace('"version": 1,', '"version": 1,\n  "name": "window",')
    with pytest.raises(ModelError, match="line 5, name: this key is there twice"):
        parse_model(text)


@pytest.mark.parametrize("text", ["", "{", "[1, 2", '{"a": }', "[" * 100_000, "9" * 5000, "\x00", '"abc"', "3"])
def test_what_is_no_json_or_no_model(text: str) -> None:
    with pytest.raises(ModelError):
        parse_model(text)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="does not exist"):
        load_model(tmp_path / "none.model.json")
    with pytest.raises(ModelError, match="cannot be read"):
        load_model(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError, match="byte 0 is not UTF-8"):
        load_model(tmp_path / "binary")
    (tmp_path / "huge").write_bytes(b'"' + b"x" * 50_000_000 + b'"')
    with pytest.raises(ModelError, match=r"50\.0 MB"):
        load_model(tmp_path / "huge")


def test_saving_is_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be written"):
        save_model(door(), tmp_path / "no such folder" / "door.model.json")
    broken = door().with_node(door().joints[0].with_limits(1.0, 0.0))
    with pytest.raises(ModelError, match="not saved"):
        save_model(broken, tmp_path / "door.model.json")
    assert list(tmp_path.iterdir()) == []


def test_old_versions_migrate(monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(document: dict[str, Any]) -> dict[str, Any]:
        return {**{k: v for k, v in document.items() if k != "title"}, "name": document["title"]}

    monkeypatch.setitem(migration.MIGRATIONS, 0, rename)
    document = json.loads(model_text(door()))
    document["title"], document["version"] = document.pop("name"), 0
    assert parse_model(json.dumps(document)) == door()
