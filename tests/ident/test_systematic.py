"""The declared distortion of the tracked volume widens what a take alone would claim, where it hurts."""

import numpy as np
import pytest

from fitting import FitFailure
from fitting.se3 import Array
from fitting.synthetic import joint_poses
from ident.joints.prismatic import Prismatic
from ident.joints.rotary import Rotary
from ident.systematic import DISTORTION_M, widened


def _hinge(degrees: float) -> tuple[Rotary, list[Array]]:
    takes = [joint_poses(3, turn=np.radians(degrees), radius=0.3, n=600).poses]
    joint = Rotary.fit(takes, name="hinge", parent="root", rng=np.random.default_rng(1))
    assert not isinstance(joint, FitFailure), joint
    return joint, takes


def test_the_axis_is_no_surer_than_the_volume() -> None:
    joint, takes = _hinge(150.0)
    wide = widened(joint, takes)
    assert joint.evidence is not None
    assert wide.evidence is not None
    assert wide.evidence.axis_std == pytest.approx(joint.evidence.axis_std)
    added = np.sqrt(wide.evidence.position_std**2 - joint.evidence.position_std**2)
    # Both components; bent within the movement, its mean stays.
    assert 0.3 * DISTORTION_M < added < 3.0 * DISTORTION_M
    assert np.linalg.eigvalsh(wide.evidence.covariance).min() > 0.0


def test_a_short_arc_suffers_more() -> None:
    def added(degrees: float) -> float:
        joint, takes = _hinge(degrees)
        narrow, wide = joint.evidence, widened(joint, takes).evidence
        assert narrow is not None
        assert wide is not None
        return float(np.sqrt(wide.position_std**2 - narrow.position_std**2))

    assert added(20.0) > added(150.0)


def test_exact_volumes_and_slides_stay_as_they_are() -> None:
    joint, takes = _hinge(90.0)
    before, after = joint.evidence, widened(joint, takes, 0.0).evidence
    assert before is not None
    assert after is not None
    assert after.position_std == pytest.approx(before.position_std)
    travel = [joint_poses(4, slide=0.3, n=300).poses]
    slide = Prismatic.fit(travel, name="drawer", parent="root", rng=np.random.default_rng(1))
    assert not isinstance(slide, FitFailure), slide
    assert widened(slide, travel) is slide
