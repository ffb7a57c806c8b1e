"""Forward kinematics against pinocchio and yourdfpy, in one run on one tree of 20 joints.

    python -m bench.tree_speed

Prints times and their ratios; ratios matter, times depend on the machine.
"""

import io
import time
from collections.abc import Callable

import numpy as np
import pinocchio
import yourdfpy

from fitting.se3 import exp
from ident.export import render_urdf
from ident.joints import Joint, Prismatic, Rotary
from ident.tree import KinematicTree

JOINTS = 20
MANY = 10_000
SINGLE = 300


def chain(rng: np.random.Generator) -> KinematicTree:
    joints: list[Joint] = []
    for i in range(JOINTS):
        cls = Rotary if i % 2 else Prismatic
        parent = joints[-1].name if joints else "root"
        joints.append(cls(name=f"j{i}", parent=parent, origin=exp(0.5 * rng.normal(size=6)), limits=((-1.0, 1.0),)))
    return KinematicTree("chain", tuple(joints))


def best(action: Callable[[], object], repeats: int = 5) -> float:
    """Least processor time of a few runs, in seconds: others may be using the machine."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    rng = np.random.default_rng(0)
    tree = chain(rng)
    last = f"j{JOINTS - 1}"
    q = rng.uniform(-1.0, 1.0, (MANY, JOINTS))
    columns = {name: q[:, i] for i, name in enumerate(tree.joint_names)}
    configurations = [dict(zip(tree.joint_names, row.tolist(), strict=True)) for row in q[:SINGLE]]

    text = render_urdf(tree).text
    model = pinocchio.buildModelFromXML(text)
    data = model.createData()
    order = [model.joints[model.getJointId(n)].idx_q for n in tree.joint_names]
    q_pin = np.zeros((MANY, model.nq))
    q_pin[:, order] = q
    frame_id = model.getBodyId(last)
    robot = yourdfpy.URDF.load(io.StringIO(text), load_meshes=False)

    def ours_many() -> np.ndarray:
        return tree.pose(last, columns)

    def pinocchio_loop() -> np.ndarray:
        result = np.empty((MANY, 4, 4))
        for i in range(MANY):
            pinocchio.forwardKinematics(model, data, q_pin[i])
            result[i] = pinocchio.updateFramePlacement(model, data, frame_id).homogeneous
        return result

    def ours_single() -> None:
        for c in configurations:
            tree.pose(last, c)

    def yourdfpy_single() -> None:
        for c in configurations:
            robot.update_cfg(c)
            robot.get_transform(last, "root")

    def pinocchio_single() -> None:
        for row in q_pin[:SINGLE]:
            pinocchio.forwardKinematics(model, data, row)
            _ = pinocchio.updateFramePlacement(model, data, frame_id).homogeneous

    difference = np.abs(ours_many() - pinocchio_loop()).max()
    many, loop = best(ours_many), best(pinocchio_loop, 3)
    single, urdfpy, pin = (best(f, 3) / SINGLE for f in (ours_single, yourdfpy_single, pinocchio_single))
    print(f"{JOINTS} joints; largest difference to pinocchio {difference:.1e}")
    print(f"{MANY} poses: ours {1e3 * many:.1f} ms, pinocchio in a loop {1e3 * loop:.1f} ms ({loop / many:.1f} ×)")
    print(
        f"one pose: ours {1e6 * single:.0f} µs, yourdfpy {1e6 * urdfpy:.0f} µs ({urdfpy / single:.1f} ×), "
        f"pinocchio {1e6 * pin:.1f} µs"
    )


if __name__ == "__main__":
    main()
