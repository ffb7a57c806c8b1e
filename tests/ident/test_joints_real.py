"""Joints from real tracks of real mechanisms, which have no known truth: opened from shut and shut again."""

from pathlib import Path

import numpy as np
import pytest

from fitting.result import FitFailure
from fitting.se3 import frame, rotation_from_quaternion
from ident.joints import Joint, Prismatic, Rotary

FOLDER = Path(__file__).parents[2] / "../shared/data/sturm/kitchen"
DRAWERS = {"M2U00394", "M2U00407"}


@pytest.mark.skipif(not FOLDER.exists(), reason="the public tracks of kitchen mechanisms are not on this machine")
def test_kitchen_tracks_start_and_end_shut() -> None:
    tracks = sorted(FOLDER.glob("*.log"))
    assert len(tracks) == 8
    for path in tracks:
        columns = np.loadtxt(path)
        poses = frame(rotation_from_quaternion(columns[:, 3:7]), columns[:, :3])
        cls: type[Joint] = Prismatic if path.stem in DRAWERS else Rotary
        joint = cls.fit([poses], name="x", parent="root", rng=np.random.default_rng(0))
        assert not isinstance(joint, FitFailure), path
        q = joint.trace([poses])
        assert q[0] == pytest.approx(0.0, abs=0.02)
        assert q[-1] == pytest.approx(0.0, abs=0.02)
        assert joint.upper > 0.3
        assert np.quantile(q, 0.99) == pytest.approx(joint.upper, rel=0.05)
