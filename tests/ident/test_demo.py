"""The demo as a user runs it: a child process, real sockets, files that other programs read."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio
import pytest
import yourdfpy

from ident import decoding, reprocess
from ident.cli import main
from ident.errors import IdentError
from ident.model import load_model
from ident.output import ENDINGS
from ident.replaying import PlotSettings, replay
from ident.resume import restore
from ident.workflow import events as ev
from ident.workflow.state import Phase, State, Target

SPEED = "6"


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    assert main(["demo", "--object", "door", "--seed", "3", "--speed", SPEED, "--out", str(folder)]) == 0
    return folder


def test_the_demo_leaves_session_model_urdf_and_picture(door: Path) -> None:
    assert {path.name for path in door.iterdir()} == {f"door{end}" for end in (".mcap", *ENDINGS)}
    for ending, first in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
        assert (door / f"door{ending}").read_bytes().startswith(first)


def test_other_programs_place_every_frame_where_ident_does(door: Path) -> None:
    tree = load_model(door / "door.model.json")
    with_yourdfpy = yourdfpy.URDF.load(str(door / "door.urdf"), load_meshes=False, build_scene_graph=True)
    with_pinocchio = pinocchio.buildModelFromUrdf(str(door / "door.urdf"))
    data = with_pinocchio.createData()
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = {name: rng.uniform(*tree.limits[name]) for name in tree.joint_names}
        with_yourdfpy.update_cfg({name: q.get(name, 0.0) for name in with_yourdfpy.actuated_joint_names})
        vector = np.zeros(with_pinocchio.nq)
        for name, value in q.items():
            vector[with_pinocchio.joints[with_pinocchio.getJointId(name)].idx_q] = value
        pinocchio.framesForwardKinematics(with_pinocchio, data, vector)
        for frame in tree.nodes:
            expected = tree.pose(frame, q)
            np.testing.assert_allclose(with_yourdfpy.get_transform(frame), expected, atol=1e-9)
            placed = data.oMf[with_pinocchio.getFrameId(frame, pinocchio.FrameType.BODY)].homogeneous
            np.testing.assert_allclose(placed, expected, atol=1e-9)


@pytest.fixture(params=[True, False], ids=["in two processes", "in one"])
def processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay at full speed that uses both processors, and one that has one only."""
    monkeypatch.setattr(decoding, "worthwhile", lambda: request.param)


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize(("speed", "from_take"), [(None, 0), (None, 5), (400.0, 0), (100.0, 5)])
def test_a_replay_gives_the_same_model_bit_for_bit(door: Path, speed: float | None, from_take: int) -> None:
    done = replay(door / "door.mcap", speed=speed, from_take=from_take)
    assert done.digest == done.recorded


@pytest.mark.usefixtures("processes")
def test_a_replay_keeps_the_order_of_events_and_data(door: Path) -> None:
    _, restored, data = restore(door / "door.mcap")
    states: list[State] = []
    done = replay(door / "door.mcap", speed=None, on_state=states.append)
    assert done.state == states[-1] == restored
    assert {take: d.measured for take, d in done.data.items()} == {take: d.measured for take, d in data.items()}
    with pytest.raises(IdentError, match="no finished take 99"):
        replay(door / "door.mcap", speed=None, from_take=99)


@pytest.mark.usefixtures("processes")
def test_a_verdict_that_differs_today_leads_nobody_astray(door: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = replay(door / "door.mcap", speed=None)
    fitted = reprocess.fitted_event

    def fails_on_the_lever(state: State, node: str, work: int, *others: Any) -> ev.Event:
        again = fitted(state, node, work, *others)
        return ev.Failed(t_ns=again.t_ns, work=work, reason="Too short.") if node == "lever" else again

    monkeypatch.setattr(reprocess, "fitted_event", fails_on_the_lever)
    done = replay(door / "door.mcap", speed=None)
    assert done.state.phase is Phase.FINISHED
    assert [take.target for take in done.state.takes] == [take.target for take in recorded.state.takes]
    assert recorded.differences == ()
    assert any("lever" in difference and "Too short" in difference for difference in done.differences)


def test_a_replay_draws_the_plots_of_the_measurement(door: Path, tmp_path: Path) -> None:
    settings = PlotSettings("png", tmp_path / "live.png")
    done = replay(door / "door.mcap", speed=30.0, plot=settings)
    assert done.digest == done.recorded
    assert settings.file.read_bytes().startswith(b"\x89PNG")


def test_a_plot_that_cannot_be_shown_is_told_and_the_replay_goes_on(
    door: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for variable in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    assert main(["replay", str(door / "door.mcap"), "--plot", "window"]) == 0
    told = capfd.readouterr()
    assert "no display" in told.err
    assert "identical" in told.out


def test_the_session_restores_the_finished_measurement(door: Path) -> None:
    _, state, data = restore(door / "door.mcap")
    assert state.phase is Phase.FINISHED
    assert all(take.id in data for take in state.takes if take.t1_ns)


def start_demo(folder: Path, *options: str) -> "subprocess.Popen[str]":
    # Tests that a shell runs in the background inherit that Ctrl-C is ignored; at a prompt it is not.
    run = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from ident.cli import main; "
    command = [sys.executable, "-c", f"{run}sys.exit(main())", "demo", "--speed", SPEED, "--out", str(folder), *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1)


def wait_for(process: "subprocess.Popen[str]", pattern: str) -> str:
    """Read lines until one matches."""
    assert process.stdout is not None
    seen = io.StringIO()
    for line in process.stdout:
        seen.write(line)
        if re.search(pattern, line):
            return line
    raise AssertionError(f"{pattern!r} was never said:\n{seen.getvalue()}")


def simulated_rig_of(process: "subprocess.Popen[str]") -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return next(int(pid) for pid in children if b"devices.sim" in Path(f"/proc/{pid}/cmdline").read_bytes())


def test_a_rig_that_stops_is_told_and_one_that_comes_back_is_used(tmp_path: Path) -> None:
    with start_demo(tmp_path) as process:
        wait_for(process, r"ok  tip")
        rig = simulated_rig_of(process)
        os.kill(rig, signal.SIGSTOP)
        stopped = time.monotonic()
        assert "127.0.0.1" in wait_for(process, r"^! No NatNet frames")
        told = time.monotonic() - stopped
        os.kill(rig, signal.SIGCONT)
        wait_for(process, r"streams again")
        wait_for(process, r"within 1° and 5 mm")
        assert process.wait() == 0
    print(f"told after {told:.1f} s")


def test_a_rig_that_dies_is_started_again(tmp_path: Path) -> None:
    with start_demo(tmp_path) as process:
        wait_for(process, r"ok  tip")
        os.kill(simulated_rig_of(process), signal.SIGKILL)
        wait_for(process, r"^! No NatNet frames")
        wait_for(process, r"streams again")
        wait_for(process, r"within 1° and 5 mm")
        assert process.wait() == 0


def test_interrupting_keeps_what_was_recorded(tmp_path: Path) -> None:
    with start_demo(tmp_path) as process:
        wait_for(process, r"ok  tip")
        process.send_signal(signal.SIGINT)
        said = process.communicate()[0]
        assert process.returncode == 130
    assert "Traceback" not in said
    _, state, _ = restore(tmp_path / "door.mcap")
    assert state.calibration is not None


def test_killing_loses_no_finished_take(tmp_path: Path) -> None:
    with start_demo(tmp_path) as process:
        wait_for(process, r"  hinge ")
        process.kill()
        process.communicate()
    _, state, data = restore(tmp_path / "door.mcap")
    takes = state.used_takes(Target("movement", "hinge"))
    assert takes, "the fit may have to be computed again, but not the take"
    assert data[takes[0].id].measured > 500


def test_an_output_folder_that_cannot_be_written_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert main(["demo", "--out", str(blocked / "out")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_no_server_and_a_wrong_body_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = tmp_path / "rig.toml"
    rig.write_text('[mocap]\nserver = "127.0.0.1"\ncommand_port = 9\n')
    assert main(["check", "--rig", str(rig)]) == 1
    assert "No NatNet server answered at 127.0.0.1:9" in capsys.readouterr().err


def test_the_model_states_where_it_comes_from(door: Path) -> None:
    model = json.loads((door / "door.model.json").read_text())
    assert model["provenance"]["session"] == "door.mcap"
    assert model["joints"][0]["evidence"]["source"]["takes"]


def test_a_replay_says_what_the_session_lacks(door: Path, tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.mcap"
    data = bytearray((door / "door.mcap").read_bytes())
    # Longer than any index between two chunks, which no reader needs.
    middle = slice(len(data) // 2, len(data) // 2 + 65536)
    data[middle] = bytes(byte ^ 255 for byte in data[middle])
    damaged.write_bytes(data)
    assert "bytes are unreadable" in replay(damaged, speed=None).incomplete
    assert not replay(door / "door.mcap", speed=None).incomplete
