import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from model_cases import door, random_tree

from ident.handles import Handle0
from ident.joints import Prismatic, Rotary
from ident.joints.problems import ModelError
from ident.plot.figure import draw_model, save_model_figure, small_parts
from ident.plot.saving import save_figure
from ident.tree import KinematicTree


def png_size(path: Path) -> tuple[int, int]:
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    return width, height


def takes(tree: KinematicTree) -> dict[str, list[np.ndarray]]:
    rng = np.random.default_rng(0)
    return {n: [tree.pose(node.parent) @ node.simulate(rng, samples=100)] for n, node in tree.nodes.items()}


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_a_figure_of_the_door_over_its_data(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"door{ending}"
    save_model_figure(door(), path, takes=takes(door()))
    assert path.stat().st_size > 10_000
    if ending == ".png":
        assert png_size(path) == (1600, 1200)


@pytest.mark.parametrize("seed", range(3))
def test_any_tree_can_be_drawn(seed: int, tmp_path: Path) -> None:
    save_model_figure(random_tree(np.random.default_rng(seed)), tmp_path / "tree.png")


def test_trees_that_are_easily_forgotten(tmp_path: Path) -> None:
    save_model_figure(KinematicTree("empty"), tmp_path / "empty.png")
    no_stops = KinematicTree(
        "no stops",
        (
            Rotary(name="wheel", limits=((-np.inf, np.inf),)),
            Prismatic(name="belt", limits=((-np.inf, np.inf),)),
        ),
    )
    save_model_figure(no_stops, tmp_path / "wheel.png", takes={"wheel": [np.full((5, 3), np.nan)], "belt": []})


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"\.png, \.svg and \.pdf"):
        save_model_figure(door(), tmp_path / "door.bmp")
    with pytest.raises(ModelError, match="cannot be written"):
        save_model_figure(door(), tmp_path / "no folder" / "door.png")


def test_another_process_draws_the_same_figure(tmp_path: Path) -> None:
    save_model_figure(door(), tmp_path / "here.png", takes=takes(door()))
    save_figure(door(), [tmp_path / "there.png", tmp_path / "there.svg"], takes(door()))
    assert (tmp_path / "there.svg").exists()
    assert (tmp_path / "there.png").read_bytes() == (tmp_path / "here.png").read_bytes()
    with pytest.raises(ModelError, match="cannot be written"):
        save_figure(door(), [tmp_path / "no folder" / "door.png"], {})


def test_labels_do_not_lie_on_each_other() -> None:
    figure = Figure(figsize=(8, 6), dpi=200)
    FigureCanvasAgg(figure)
    ax = figure.add_subplot(projection="3d")
    draw_model(ax, door(), takes=takes(door()))
    boxes = [t.get_window_extent() for t in ax.texts]
    assert len(boxes) >= 3
    for i, a in enumerate(boxes):
        assert not any(a.overlaps(b) for b in boxes[i + 1 :])
    # Files of lines are drawn at 72 dots per inch, whatever the figure was made for.
    figure.dpi = 72.0
    figure.canvas.draw()
    for box, small in zip(boxes, (t.get_window_extent() for t in ax.texts), strict=True):
        assert small.x0 / 72.0 == pytest.approx(box.x0 / 200.0, abs=0.05)
        assert small.y0 / 72.0 == pytest.approx(box.y0 / 200.0, abs=0.05)


def test_outliers_are_told_apart() -> None:
    tree = door()
    data = takes(tree)
    data["hinge"][0][40:50, :3, 3] += 0.02
    figure = Figure()
    FigureCanvasAgg(figure)
    drawn = draw_model(figure.add_subplot(projection="3d"), tree, takes={"hinge": data["hinge"]})
    assert drawn.outliers
    tree = tree.with_node(replace(tree.joints[0], evidence=None))
    drawn = draw_model(figure.add_subplot(projection="3d"), tree, takes={"hinge": data["hinge"]})
    assert not drawn.outliers


def test_small_parts_of_a_large_object_are_shown_again() -> None:
    hinge, lever = door().joints
    knob = Handle0(name="knob", parent="lever")
    assert small_parts(KinematicTree("door", (hinge, lever), (knob,))) == ("lever", "knob")
    assert small_parts(door()) == ()
    assert small_parts(KinematicTree("one", (Rotary.example(),))) == ()
