import io

import numpy as np
import pytest
import yourdfpy
from model_cases import random_q, random_tree

from ident.export import render_urdf
from ident.joints.problems import ModelError
from ident.model import model_text, parse_model
from ident.model.urdf import parse_urdf

CABINET = """<?xml version="1.0"?>
<robot name="cabinet">
  <link name="base"><visual><geometry><mesh filename="../../../etc/passwd"/></geometry></visual></link>
  <link name="door"/>
  <link name="drawer"/>
  <link name="wheel"/>
  <joint name="door.hinge" type="revolute">
    <origin xyz="0.1 0.2 0.3" rpy="0.1 1.5707963267948966 -0.4"/>
    <parent link="base"/><child link="door"/>
    <axis xyz="1 1 0"/><limit lower="-1.5" upper="0.5" effort="1" velocity="1"/>
    <dynamics damping="0.3" friction="nan"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="door"/><child link="drawer"/>
    <limit lower="0" upper="0.4" effort="1" velocity="1"/><mimic joint="door.hinge" multiplier="0.2"/>
  </joint>
  <joint name="spin" type="continuous"><parent link="base"/><child link="wheel"/><axis xyz="0 0 1"/></joint>
</robot>
"""


def test_frames_of_an_imported_urdf_are_those_of_its_links() -> None:
    imported = parse_urdf(CABINET)
    tree = imported.tree
    assert tree.joint_names == ("door_hinge", "slide", "spin")
    assert tree.limits["door_hinge"] == (-1.5, 0.5)
    assert tree.limits["spin"] == (-np.inf, np.inf)
    robot = yourdfpy.URDF.load(io.StringIO(CABINET.replace("<mimic", "<ignored")), load_meshes=False)
    robot.update_cfg({"door.hinge": -0.7, "slide": 0.2, "spin": 2.0})
    q = {"door_hinge": -0.7, "slide": 0.2, "spin": 2.0}
    for joint, link in (("door_hinge", "door"), ("slide", "drawer"), ("spin", "wheel")):
        assert np.abs(tree.pose(joint, q) - robot.get_transform(link, "base")).max() < 1e-12
    assert parse_model(model_text(tree)) == tree


def test_what_is_not_taken_over_is_listed() -> None:
    imported = parse_urdf(CABINET)
    lost = "\n".join(imported.lost)
    assert "'../../../etc/passwd', which was not opened" in lost
    assert "visual" in lost
    assert "now 'door_hinge'" in lost
    assert "mimic" in lost
    assert imported.tree["slide"].extra["mimic"] == {"joint": "door.hinge", "multiplier": "0.2"}
    assert imported.tree["door_hinge"].extra == {"urdf_link": "door", "dynamics": {"damping": 0.3}}


@pytest.mark.parametrize("seed", range(10))
def test_export_and_import_keep_every_frame(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, coupled=False)
    again = parse_urdf(render_urdf(tree).text).tree
    q = random_q(rng, tree)
    for name in tree.nodes:
        known = f"{name}__child" if f"{name}__child" in again.nodes else name
        assert np.abs(again.pose(known, q) - tree.pose(name, q)).max() < 1e-9


def changed(old: str, new: str) -> str:
    assert old in CABINET
    return CABINET.replace(old, new, 1)


BAD = {
    "not xml": ("<robot", "not valid XML"),
    "empty": ("", "not valid XML"),
    "other xml": ("<svg/>", "no URDF"),
    "xacro": (changed('<link name="wheel"/>', '<link name="wheel"/><xacro:if value="1"/>'), "xacro"),
    "no links": ("<robot name='x'/>", "no link"),
    "missing link": (changed('<parent link="door"/>', '<parent link="dor"/>'), "line 13, slide: its parent link 'dor'"),
    "two parents": (changed('<child link="wheel"/>', '<child link="door"/>'), "hangs already"),
    "two roots": (changed('<link name="wheel"/>', '<link name="wheel"/><link name="x"/>'), "hang on nothing: base, x"),
    "nan": (changed('xyz="0.1 0.2 0.3"', 'xyz="0.1 nan 0.3"'), "line 8, door_hinge: xyz"),
    "two numbers": (changed('xyz="1 1 0"', 'xyz="1 1"'), "expected 3 finite numbers"),
    "zero axis": (changed('xyz="1 1 0"', 'xyz="0 0 0"'), "the axis is zero"),
    "limits upside down": (changed('lower="-1.5"', 'lower="1.5"'), "upside down"),
    "no limits": (changed('<limit lower="0" upper="0.4" effort="1" velocity="1"/>', ""), "no <limit>"),
    "floating": (changed('"continuous"', '"floating"'), "'floating' has no counterpart"),
    "same name": (changed('name="slide"', 'name="spin"'), "there twice"),
    "cycle": (
        changed('<parent link="base"/><child link="door"/>', '<parent link="drawer"/><child link="door"/>'),
        "cycle",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_bad_urdf_gets(case: str) -> None:
    text, expected = BAD[case]
    with pytest.raises(ModelError) as caught:
        parse_urdf(text)
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    "dtd",
    [
        '<!DOCTYPE robot [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE robot [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]>',
        '<!DOCTYPE robot SYSTEM "http://localhost/x.dtd">',
    ],
)
def test_entities_and_document_types_are_refused(dtd: str) -> None:
    with pytest.raises(ModelError, match="DOCTYPE"):
        parse_urdf(CABINET.replace("<robot", f"{dtd}<robot", 1))


def test_every_problem_is_named_at_once() -> None:
    text = changed('lower="-1.5"', 'lower="1.5"').replace('<parent link="door"/>', '<parent link="dor"/>')
    text = text.replace('"continuous"', '"planar"')
    with pytest.raises(ModelError) as caught:
        parse_urdf(text)
    assert len(caught.value.problems) >= 3
    assert all(p.line for p in caught.value.problems)


def test_deep_nesting_and_long_chains() -> None:
    with pytest.raises(ModelError, match="nested"):
        parse_urdf("<robot>" + "<a>" * 5000 + "</a>" * 5000 + "</robot>")
    n = 2000
    links = "".join(f'<link name="l{i}"/>' for i in range(n + 1))
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="l{i}"/><child link="l{i + 1}"/></joint>' for i in range(n)
    )
    tree = parse_urdf(f"<robot name='long'>{links}{joints}</robot>").tree
    assert np.allclose(tree.pose(f"j{n - 1}"), np.eye(4))
