"""SDF as Drake reads it; no other reader of SDF comes as a wheel. Drake is large: install it to run this."""

from pathlib import Path

import numpy as np
import pytest
from model_cases import random_tree

from ident.export import render

plants = pytest.importorskip("pydrake.multibody.plant", reason="drake is not installed")
parsing = pytest.importorskip("pydrake.multibody.parsing", reason="drake is not installed")


@pytest.mark.parametrize("seed", range(20))
def test_drake_places_every_frame_of_an_sdf_where_ident_does(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng)
    path = tmp_path / "model.sdf"
    path.write_text(render(tree, "sdf").text)
    plant = plants.MultibodyPlant(0.0)
    parsing.Parser(plant).AddModels(str(path))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    q = {name: float(rng.uniform(*np.clip(tree.limits[name], -10.0, 10.0))) for name in tree.joint_names}
    for name, value in q.items():
        joint = plant.GetJointByName(name)
        (joint.set_angle if hasattr(joint, "set_angle") else joint.set_translation)(context, value)
    root = plant.GetBodyByName("root").body_frame()
    for frame in tree.nodes:
        # In SDF a link must not bear the name of its joint.
        body = plant.GetBodyByName(f"{frame}_link").body_frame()
        placed = plant.CalcRelativeTransform(context, root, body).GetAsMatrix4()
        np.testing.assert_allclose(placed, tree.pose(frame, q), atol=1e-9)
