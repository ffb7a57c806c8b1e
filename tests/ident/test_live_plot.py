"""The live picture: drawn from snapshots, in a child process that may end at any time."""

import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from wizard_cases import CABINET, FakeMachine

from ident.identify import node_record
from ident.joints import Rotary
from ident.live import LiveFit
from ident.live.following import Track
from ident.plot.live import draw_live
from ident.plot.process import LivePlot
from ident.plot.snapshot import Snapshot, snapshot_of
from ident.workflow import events as ev
from ident.workflow.quality import Verdict
from ident.workflow.state import State


def state_in_a_take() -> State:
    machine = FakeMachine()
    machine.post(ev.Described(plan=CABINET.to_dict()))
    machine.post(ev.Skip())
    machine.post(ev.Proceed())
    return machine.state


def track_of(state: State, *, fitted: bool) -> Track:
    take = state.takes[-1]
    hinge = replace(Rotary.example(), name=take.target.node)
    poses = hinge.simulate(np.random.default_rng(0), samples=200)
    t_ns = take.t0_ns + np.arange(200) * 8_000_000 + (np.arange(200) > 120) * 500_000_000
    fit = LiveFit("rotary", Verdict("80° of turn"), 200, 198, node=hinge if fitted else None)
    wrench = np.random.default_rng(1).normal(size=(200, 6))
    return Track(take, t_ns, poses, t_ns, wrench, 200, 200, 0.5, 0.0, int(t_ns[-1]), fit)


@pytest.mark.parametrize("fitted", [True, False])
def test_snapshot_survives_the_pipe_and_is_drawn(fitted: bool) -> None:
    state = state_in_a_take()
    snapshot = Snapshot.decode(snapshot_of(state, track_of(state, fitted=fitted), {}).encode())
    assert snapshot.title == "cabinet: top"
    assert [word for _, word in snapshot.marks][:2] == ["start", "lost"]
    assert list(snapshot.takes) == ["top" if fitted else ""]
    figure = Figure()
    FigureCanvasAgg(figure)
    draw_live(figure, snapshot)
    assert len(figure.axes) == 4
    figure.canvas.draw()


def test_ends_and_stop_are_marked() -> None:
    state = state_in_a_take()
    track = track_of(state, fitted=True)
    words = [word for _, word in snapshot_of(state, track, {}).marks]
    assert "upper" in words
    assert "stop" not in words
    machine = FakeMachine()
    machine.state = state
    machine.post(ev.Proceed(t_ns=int(track.t_ns[-1])))
    assert "stop" in [word for _, word in snapshot_of(machine.state, track, {}).marks]


def test_picture_of_nothing_and_of_a_finished_tree() -> None:
    for snapshot in (
        Snapshot("empty"),
        Snapshot("door", nodes=(node_record(Rotary.example()),), takes={"hinge": np.zeros((0, 3))}),
    ):
        figure = Figure()
        FigureCanvasAgg(figure)
        draw_live(figure, Snapshot.decode(snapshot.encode()))
        figure.canvas.draw()


def wait_for(condition: object) -> None:
    deadline = time.monotonic() + 60.0
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_png_is_refreshed_beside_the_measurement(tmp_path: Path) -> None:
    file = tmp_path / "live.png"
    state = state_in_a_take()
    with LivePlot("png", file) as plot:
        plot.show(state, None)
        wait_for(file.exists)
        assert plot.note == "plot: live.png"
        process = plot.process
        assert process is not None
    assert process.returncode == 0
    assert file.read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in tmp_path.iterdir()] == ["live.png"]


def test_plot_that_dies_is_a_note_and_nothing_more(tmp_path: Path) -> None:
    state = state_in_a_take()
    with LivePlot("png", tmp_path / "no such folder" / "live.png") as plot:
        plot.show(state, None)
        wait_for(lambda: plot.process is not None)
        process = plot.process
        assert process is not None
        process.wait(60.0)
        plot.show(replace(state, notice="next"), None)
        wait_for(lambda: "FileNotFoundError" in plot.note)


def test_no_display_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    with LivePlot("window") as plot:
        wait_for(lambda: plot.process is not None)
        process = plot.process
        assert process is not None
        process.wait(60.0)
        plot.show(State(), None)
        wait_for(lambda: "no display" in plot.note)
    assert sys.platform == "linux"


def test_off_starts_nothing() -> None:
    with LivePlot("off") as plot:
        plot.show(State(), None)
        assert plot.process is None
        assert plot.note == ""
    with pytest.raises(ValueError, match="no way to plot"):
        LivePlot("hologram")


def test_track_of_a_state_gone_by_is_not_drawn() -> None:
    state = state_in_a_take()
    track = track_of(state, fitted=True)
    gone = SimpleNamespace(**{**track.__dict__, "take": replace(track.take, id=99)})
    assert snapshot_of(state, gone, {}).takes == {}  # type: ignore[arg-type]
