"""Which joint type a movement looks like."""

from typing import Any

import numpy as np
import pytest

from fitting.synthetic import joint_poses
from ident.likeliest import likeliest


@pytest.mark.parametrize(
    ("kind", "scene"),
    [
        ("rotary", {"turn": np.radians(15.0), "radius": 0.1}),
        ("prismatic", {"slide": 0.05}),
        ("fixed", {}),
        # What slow play looks like: a few millimetres on an arc, or straight.
        ("fixed", {"turn": np.radians(1.0), "radius": 0.15}),
        ("fixed", {"slide": 0.003}),
    ],
)
def test_a_held_part_is_fixed_whatever_its_play_looks_like(kind: str, scene: dict[str, Any]) -> None:
    for seed in range(3):
        poses = joint_poses(seed, n=600, **scene).poses
        assert likeliest([poses], np.random.default_rng(0), {}).kind == kind
