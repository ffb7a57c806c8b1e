"""Press the lever, open the door, and write the gripper's way as a table that any robot can follow."""

import tempfile
from pathlib import Path

import numpy as np

from fitting.se3 import inverse
from ident.export.csv_text import render
from ident.joints.problems import OutOfLimitsError
from ident.model import load_model

model = load_model(Path(__file__).with_name("door.model.json"))
press = model.limits["lever"][1]

# Two movements, one after the other: the lever with the door shut, then the door with the lever pressed.
first = model.gripper_path("lever", {"lever": (0.0, press)}, steps=20)
second = model.gripper_path("lever", {"hinge": (0.0, 1.2)}, steps=60, q={"lever": press})
way = np.concatenate([first, second])
print(f"{len(way)} gripper frames, {np.linalg.norm(np.diff(way[:, :3, 3], axis=0), axis=1).sum():.3f} m long")

# The same path for a robot whose base stands one metre in front of the door.
base2root = np.eye(4)
base2root[:3, 3] = [0.6, -1.0, 0.0]
print(f"starts at {np.round((inverse(base2root) @ way[0])[:3, 3], 3)} m in the robot's base")

# Beyond a stop there is no path, and the model says so instead of clipping.
try:
    model.gripper_path("bar", {"hinge": (0.0, 3.0)})
except OutOfLimitsError as error:
    print(error)

table = render(model, handle="bar", move={"hinge": (0.0, 1.2)}, steps=60)
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "open.csv"
    file.write_text(table.text, encoding="utf-8")
    print(f"{file.name}: {len(table.text.splitlines()) - 1} rows, {table.text.splitlines()[0]}")
