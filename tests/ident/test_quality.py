"""Verdicts: each bad take gets its reason and its remedy, a good one none."""

import math
from dataclasses import replace

import pytest

from ident.workflow.assess import assess
from ident.workflow.quality import Observation, QualityLimits, Verdict

GOOD = Observation(
    kind="rotary",
    samples=900,
    measured=900,
    inliers=880,
    longest_loss_s=0.05,
    axis_std=math.radians(0.05),
    position_std=0.0003,
    arc=math.radians(80),
    grip="rigid",
    speed=0.5,
)
LIMITS = QualityLimits()


def test_a_good_take_is_accepted() -> None:
    verdict = assess(GOOD, LIMITS)
    assert verdict.good
    assert verdict.advice == "accept"
    assert "80.0° of turn" in verdict.summary
    assert "grip" not in verdict.summary


def test_a_grip_that_turned_without_harm_is_a_remark() -> None:
    verdict = assess(replace(GOOD, grip="partly"), LIMITS)
    assert verdict.good
    assert verdict.summary.endswith("the grip turned")
    assert "grip" not in assess(replace(GOOD, kind="handle1", grip="loose"), LIMITS).summary


@pytest.mark.parametrize(
    ("change", "code", "advice"),
    [
        ({"measured": 50}, "few_samples", "redo"),
        ({"longest_loss_s": 1.2}, "tracking_lost", "redo"),
        ({"best_kind": "prismatic"}, "other_type", "redo"),
        ({"arc": math.radians(8)}, "short_arc", "redo"),
        ({"inliers": 300}, "outliers", "redo"),
        ({"grip": "loose", "axis_std": math.radians(1.0)}, "loose_grip", "redo"),
        ({"speed": 3.0}, "too_quick", "redo"),
        ({"duration_s": 0.9}, "too_quick", "redo"),
        ({"jump_rad": math.radians(11)}, "slipped", "redo"),
        ({"jump_m": 0.04}, "slipped", "redo"),
        ({"off_path": 0.034}, "strayed", "redo"),
        ({"swing": math.radians(120)}, "loose_grip", "redo"),
        ({"axis_std": math.radians(0.8)}, "imprecise", "add"),
        ({"position_std": 0.004}, "imprecise", "add"),
    ],
)
def test_each_fault_is_named_with_its_remedy(change: dict[str, object], code: str, advice: str) -> None:
    verdict = assess(replace(GOOD, **change), LIMITS)  # type: ignore[arg-type]
    assert code in [f.code for f in verdict.findings]
    assert verdict.advice == advice
    assert all(f.message and f.remedy for f in verdict.findings)


def test_a_loose_grip_is_no_fault_where_the_axis_is_known_well() -> None:
    assert assess(replace(GOOD, grip="loose"), LIMITS).good


def test_a_short_slide_is_named() -> None:
    slide = replace(GOOD, kind="prismatic", arc=math.nan, travel=0.02, position_std=math.nan)
    assert [f.code for f in assess(slide, LIMITS).findings] == ["short_travel"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"arc": math.radians(4), "travel": 0.09}, "short_arc"),
        ({"arc": math.radians(60), "travel": 0.005}, "short_travel"),
        ({"arc": math.radians(60), "travel": 0.09, "off_path": 0.012}, "strayed"),
    ],
)
def test_handles_have_limits_of_their_own(change: dict[str, object], code: str) -> None:
    handle = replace(GOOD, kind="handle2", travel=0.09)
    assert assess(handle, LIMITS).good
    assert [f.code for f in assess(replace(handle, **change), LIMITS).findings] == [code]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"duration_s": 0.9, "jump_rad": 0.6, "measured": 90}, ["too_quick"]),
        ({"jump_rad": 0.3, "off_path": 0.03, "inliers": 200, "axis_std": 0.1}, ["slipped"]),
        ({"off_path": 0.03, "best_kind": "prismatic", "inliers": 200}, ["strayed"]),
        ({"arc": 0.1, "best_kind": "fixed", "axis_std": 0.1}, ["short_arc"]),
        ({"inliers": 300, "axis_std": 0.1}, ["outliers", "imprecise"]),
    ],
)
def test_a_cause_is_told_and_not_its_consequences(change: dict[str, object], told: list[str]) -> None:
    assert [f.code for f in assess(replace(GOOD, **change), LIMITS).findings] == told  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"bow": 0.001, "travel": 0.06}, "short_arc"),
        ({"bow": 0.04, "travel": 0.3, "off_path": 0.03}, "strayed"),
        ({"bow": 0.04, "travel": 0.3, "jump_rad": 0.3}, "slipped"),
        ({"bow": 0.04, "travel": 0.3}, "no_fit"),
    ],
)
def test_takes_without_a_fit_get_advice_too(change: dict[str, object], code: str) -> None:
    nothing = replace(GOOD, inliers=0, axis_std=math.nan, position_std=math.nan, arc=math.nan, failure="Nothing fits.")
    verdict = assess(replace(nothing, **change), LIMITS)  # type: ignore[arg-type]
    assert [f.code for f in verdict.findings] == [code]
    assert verdict.summary == "No fit."


def test_limits_can_be_changed() -> None:
    assert not assess(GOOD, QualityLimits(axis_std_deg=0.01)).good


def test_a_verdict_survives_the_log() -> None:
    verdict = assess(replace(GOOD, measured=3, speed=9.0), LIMITS)
    assert Verdict.from_dict(verdict.to_dict()) == verdict


def test_what_was_found_out_is_said_with_how_sure_it_is() -> None:
    def words(**changes: object) -> Verdict:
        return assess(replace(GOOD, **changes), LIMITS)  # type: ignore[arg-type]

    assert words().found_out == ""
    assert words(found_out=True, probability=0.9999).found_out == "rotary, over 99 % sure"
    assert words(found_out=True, probability=0.83).found_out == "rotary, 83 % sure"
    assert words(found_out=True).found_out == "rotary"
    contradicted = words(best_kind="prismatic", probability=0.97).findings[0]
    assert contradicted.message == "The movement looks prismatic, not rotary (97 % sure)."
    again = Verdict.from_dict(words(found_out=True, probability=0.83).to_dict())
    assert again.found_out == "rotary, 83 % sure"
