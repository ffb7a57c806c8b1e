"""Declared errors widen what a take alone would claim, where they hurt."""

from dataclasses import fields, replace

import numpy as np
import pytest

from fitting import FitFailure
from fitting.se3 import Array, rotation_exp
from fitting.synthetic import joint_poses
from ident.identify import solve_node
from ident.joints.prismatic import Prismatic
from ident.joints.rotary import Rotary
from ident.study.offline import OfflineRig, content, identify
from ident.systematic import widened
from ident.workflow.plan import ROOT, Plan
from ident.workflow.quality import QualityLimits
from ident.workflow.state import TIP

DECLARED = ("distortion_mm", "play_mm", "play_deg", "creep_mm", "unseen_turn_deg", "seat_mm")
NOTHING = replace(QualityLimits(), **dict.fromkeys(DECLARED, 0.0))


def _fitted(takes: list[Array]) -> Rotary:
    joint = Rotary.fit(takes, name="hinge", parent="root", rng=np.random.default_rng(1))
    assert not isinstance(joint, FitFailure), joint
    return joint


def _hinge(degrees: float) -> tuple[Rotary, list[Array]]:
    takes = [joint_poses(3, turn=np.radians(degrees), radius=0.3, n=600).poses]
    return _fitted(takes), takes


def _added(joint: Rotary, takes: list[Array], declared: QualityLimits, tip: Array | None = None) -> Array:
    """What is added to the standard deviations of tilt (rad) and shift (m), both components together."""
    wide = widened(joint, takes, declared, tip).evidence
    assert joint.evidence is not None
    assert wide is not None
    assert np.linalg.eigvalsh(wide.covariance).min() > 0.0
    squares = np.diag(wide.covariance) - np.diag(joint.evidence.covariance)
    return np.sqrt(np.maximum([squares[:2].sum(), squares[2:].sum()], 0.0))


def test_every_declared_error_has_unit_and_reason() -> None:
    declared = {f.name: f.metadata for f in fields(QualityLimits)}
    assert all(declared[name]["unit"] and declared[name]["reason"] for name in DECLARED)


def test_the_axis_is_no_surer_than_the_volume() -> None:
    joint, takes = _hinge(150.0)
    _, shift = _added(joint, takes, replace(NOTHING, distortion_mm=0.1))
    # Both components; bent within the movement, its mean stays.
    assert 0.3e-4 < shift < 3e-4


def test_repeating_a_take_does_not_straighten_the_volume() -> None:
    joint, takes = _hinge(150.0)
    again = [takes[0].copy() for _ in range(4)]
    one = _added(joint, takes, replace(NOTHING, distortion_mm=0.1))
    four = _added(_fitted(again), again, replace(NOTHING, distortion_mm=0.1))
    np.testing.assert_allclose(one, four, rtol=0.05)
    # Play is another one in each take.
    one = _added(joint, takes, replace(NOTHING, play_mm=0.5))
    four = _added(_fitted(again), again, replace(NOTHING, play_mm=0.5))
    np.testing.assert_allclose(0.5 * one, four, rtol=0.2)


@pytest.mark.parametrize("name", ["distortion_mm", "play_mm", "play_deg"])
def test_a_short_arc_suffers_more(name: str) -> None:
    declared = replace(NOTHING, **{name: 0.3})
    assert _added(*_hinge(20.0), declared)[1] > _added(*_hinge(150.0), declared)[1]


def test_creep_along_the_bar_tilts_the_axis() -> None:
    tilt, shift = _added(*_hinge(60.0), replace(NOTHING, creep_mm=0.3))
    assert tilt > np.radians(0.01)
    assert shift < 1e-5


def test_play_that_the_fit_has_seen_is_not_counted_twice() -> None:
    joint, takes = _hinge(60.0)
    time = np.linspace(0.0, 1.0, 600)
    shaky = takes[0].copy()
    for axis, waves in enumerate((3, 4, 5)):
        shaky[:, axis, 3] += 1e-3 * np.sin(2.0 * np.pi * waves * time)
    declared = replace(NOTHING, play_mm=0.15)
    assert _added(_fitted([shaky]), [shaky], declared)[1] < 0.3 * _added(joint, takes, declared)[1]


def test_a_wrong_tip_matters_only_where_the_grip_turns() -> None:
    joint, takes = _hinge(60.0)
    doubt = np.eye(3) * 1e-6
    assert _added(joint, takes, NOTHING, doubt)[1] < 1e-5
    turned = takes[0].copy()
    angles = np.radians(20.0) * np.clip(np.linspace(-2.0, 3.0, 600), 0.0, 1.0) ** 2
    assert joint.evidence is not None
    axis = np.cross(*joint.evidence.basis)
    turned[:, :3, :3] = rotation_exp(np.outer(angles, axis)) @ turned[:, :3, :3]
    loose = _fitted([turned])
    assert loose.evidence is not None
    assert loose.evidence.grip in ("partly", "loose")
    assert _added(loose, [turned], NOTHING, doubt)[1] > 1e-4


def test_exact_rigs_and_slides_stay_as_they_are() -> None:
    joint, takes = _hinge(90.0)
    np.testing.assert_allclose(_added(joint, takes, NOTHING), 0.0, atol=1e-9)
    travel = [joint_poses(4, slide=0.3, n=300).poses]
    slide = Prismatic.fit(travel, name="drawer", parent="root", rng=np.random.default_rng(1))
    assert not isinstance(slide, FitFailure), slide
    assert widened(slide, travel, QualityLimits()) is slide


def test_a_handle_is_known_better_where_bars_sit_alike_in_the_groove() -> None:
    """Its tip is calibrated: how far it is from the bar's middle is then known, unless grooves are declared to vary."""
    rig = OfflineRig("cabinet", 5)
    top = rig.plan().node("top_handle")
    done = identify(rig, plan=Plan("cabinet", (replace(top, parent=ROOT),)), operator=content)
    known, open_ = (
        solve_node(done.state, "top_handle", done.data, replace(QualityLimits(), seat_mm=seat)) for seat in (0.3, 20.0)
    )
    assert not isinstance(known, FitFailure)
    assert not isinstance(open_, FitFailure)
    assert known.node.evidence is not None
    assert open_.node.evidence is not None
    assert known.node.evidence.position_std < 0.8 * open_.node.evidence.position_std
    bare = solve_node(done.state.with_step(TIP, record=None), "top_handle", done.data, QualityLimits())
    assert not isinstance(bare, FitFailure)
    assert bare.node.evidence is not None
    assert bare.node.evidence.position_std > known.node.evidence.position_std
