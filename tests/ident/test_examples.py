"""Every example runs as it stands, and says what it promises."""

import runpy
from pathlib import Path

import pytest

from ident.joints import base

FOLDER = Path(__file__).parents[2] / "examples"
PROMISES = {
    "01_load_and_query.py": "hinge at 0.5000 rad",
    "02_open_a_door_in_mujoco.py": "hinge at 1.6",
    "03_plan_a_gripper_path.py": "80 gripper frames",
    "04_add_a_joint_type.py": "saved and loaded: the same",
}


def test_every_example_is_tested() -> None:
    assert {p.name for p in FOLDER.glob("[0-9]*.py")} >= set(PROMISES)


@pytest.mark.parametrize("name", PROMISES)
def test_example(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_types", dict(base._types))
    runpy.run_path(str(FOLDER / name), run_name="__main__")
    assert PROMISES[name] in capsys.readouterr().out
