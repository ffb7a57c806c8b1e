"""Open a door in MuJoCo: the exported handle is pulled along the path that the model gives."""

from pathlib import Path

import mujoco

from fitting.se3 import quaternion_from_rotation
from ident.export.mjcf import build_spec
from ident.model import load_model

model = load_model(Path(__file__).with_name("door.model.json"))
lower, upper = model.limits["hinge"]
path = model.gripper_path("bar", {"hinge": (lower, upper)}, steps=800)
positions = path[:, :3, 3]
orientations = quaternion_from_rotation(path[:, :3, :3])[:, [3, 0, 1, 2]]

# The door as identified, and a gripper on its handle: the handle's frame is the gripper's frame.
spec = build_spec(model)
spec.worldbody.add_body(name="gripper", mocap=True, pos=positions[0], quat=orientations[0])
spec.add_equality(type=mujoco.mjtEq.mjEQ_WELD, objtype=mujoco.mjtObj.mjOBJ_BODY, name1="gripper", name2="bar")
world = spec.compile()
world.dof_damping[:] = 2.0
data = mujoco.MjData(world)

for position, orientation in zip(positions, orientations, strict=True):
    data.mocap_pos[0], data.mocap_quat[0] = position, orientation
    mujoco.mj_step(world, data, 3)
mujoco.mj_step(world, data, 500)

opened = float(data.joint("hinge").qpos[0])
print(f"hinge at {opened:.4f} rad of {upper:.4f} rad")
if abs(opened - upper) > 0.01:
    raise SystemExit("The door did not open to its limit.")
