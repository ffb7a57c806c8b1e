"""Load a model and ask it where things are."""

from pathlib import Path

import numpy as np

from ident.model import load_model

model = load_model(Path(__file__).with_name("door.model.json"))
print(f"{model.name}: joints {', '.join(model.joint_names)}; frames {', '.join(model.frame_names)}")

# Where is the handle with the door half a radian open, and how well is that known?
pose = model.pose("bar", {"hinge": 0.5})
std = np.sqrt(np.diag(model.uncertainty("bar", {"hinge": 0.5})))
print(f"bar at {np.round(pose[:3, 3], 4)} m, ± {np.round(1000 * std[:3], 2)} mm")

# A thousand configurations at once.
poses = model.pose("bar", {"hinge": np.linspace(0.0, 1.2, 1000)})
print(f"{len(poses)} poses; the handle sweeps {np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1).sum():.3f} m")

# How does the handle move when the hinge does?
print(f"jacobian of the hinge: {np.round(model.jacobian('bar', {'hinge': 0.5})[:, 0], 3)}")

# The other way round: a gripper is seen on the handle; how far is the door open?
q, residual = model.coordinates("bar", pose)
print(f"hinge at {q['hinge']:.4f} rad, residual {residual:.1e} standard deviations")
