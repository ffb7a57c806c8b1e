"""How much a program waits for before its first fit."""

import subprocess
import sys

FIT = """
import sys
import numpy as np
from fitting import fit_circle, fit_rotary
from fitting.synthetic import joint_poses

scene = joint_poses(0, turn=1.0, slide=0.0, radius=0.3, n=200)
assert fit_circle(np.ascontiguousarray(scene.points)) and fit_rotary(scene.poses)
"""
LOADED = "print(*(name for name in ('scipy.linalg', 'scipy.special', 'numba') if name in sys.modules))"


def test_a_fit_from_kept_code_loads_neither_the_compiler_nor_scipy() -> None:
    subprocess.run([sys.executable, "-c", FIT], check=True)  # compiles what is not kept yet
    again = subprocess.run([sys.executable, "-c", FIT + LOADED], check=True, capture_output=True, text=True)
    assert again.stdout.split() == []
