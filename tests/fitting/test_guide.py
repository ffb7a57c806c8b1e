"""The code of the guide runs as it stands, and gives what it promises."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "fitting.md"
FIRST, OWN_MODEL = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_first_steps(capsys: pytest.CaptureFixture[str]) -> None:
    exec(FIRST, {})
    said = capsys.readouterr().out
    assert "grip rigid" in said
    assert re.search(r"± 0\.0\d+°, 0\.\d+ mm", said)
    assert re.search(r"'rotary': (1\.0|0\.99)", said)


def test_a_model_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    exec(OWN_MODEL, {})
    numbers = [float(value) for value in re.findall(r"[0-9]+\.[0-9]*", capsys.readouterr().out)]
    assert numbers[:4] == pytest.approx([0.1, 0.2, 0.3, 0.25], abs=3e-4)
    assert numbers[4] == pytest.approx(0.5, rel=0.15)
