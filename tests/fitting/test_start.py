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


USE = """
import numpy as np
from fitting import compiled, fit_circle, fit_line, fit_pivot, fit_prismatic, fit_rotary, fit_screw, select
from fitting.synthetic import joint_poses
from fitting.warm import warm_up

warm_up()
late = []
found = compiled.Kernel._found
compiled.Kernel._found = lambda self, *given: (late.append(self.__name__), found(self, *given))[1]
door, slide = joint_poses(1, turn=1.0, radius=0.3, n=900), joint_poses(2, slide=0.3, n=900)
struck = door.poses.copy()
struck[300:500, :3, 3] += 0.02
for poses in (door.poses, slide.poses, struck, joint_poses(3, turn=2.0, pitch=0.02).poses):
    points = np.ascontiguousarray(poses[:, :3, 3])
    for fit in (fit_line, fit_circle):
        fit(points)
    for fit in (fit_prismatic, fit_rotary, fit_screw, fit_pivot, select):
        fit(poses)
print(*late)
"""


def test_nothing_is_left_to_compile_after_warming_up() -> None:
    run = subprocess.run([sys.executable, "-c", USE], check=True, capture_output=True, text=True)
    assert run.stdout.split() == []
