"""The report: one page, complete in itself, that a browser draws without a complaint."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from devices.samples import PoseSample, PoseState
from fitting import se3
from sessions import Recorder, Take, open_session
from sessions.imports import import_recording
from sessions.report import render_report

T0 = 1_700_000_000_000_000_000
NASTY = "</script><img src=x onerror=alert(1)>"


def frame(position: list[float], axis: list[float], x_axis: list[float]) -> dict[str, Any]:
    return {"position_m": position, "axis": axis, "x_axis": x_axis}


def evidence(**more: Any) -> dict[str, Any]:
    numbers = {"samples": 200, "inliers": 190, "takes": 1, "rms_m": 5e-4, "noise_m": 5e-4}
    return {**numbers, "method": "fit_rotary", "grip": "rigid", "axis_std_rad": 1e-3, "position_std_m": 4e-4, **more}


MODEL: dict[str, Any] = {
    "format": "ident-model",
    "version": 1,
    "name": "door",
    "joints": [
        {
            "name": "hinge",
            "type": "rotary",
            "parent": "root",
            "origin": frame([0.2, 1.0, 0.9], [0, 0, 1], [1, 0, 0]),
            "limits": {"turn_rad": [0.0, 1.5]},
            "radius_m": 0.7,
            "evidence": evidence(),
        },
        {
            "name": "bolt",
            "type": "prismatic",
            "parent": "hinge",
            "origin": frame([0.6, 0.0, 0.1], [0, 1, 0], [0, 0, 1]),
            "limits": {"slide_m": [0.0, 0.08]},
            "evidence": evidence(measured_at={"hinge": 0.3}),
        },
    ],
    "handles": [
        {
            "name": "bar",
            "type": "handle2",
            "parent": "hinge",
            "origin": frame([0.65, 0.05, -0.1], [0, 0, 1], [0, 1, 0]),
            "limits": {"turn_rad": [-0.4, 0.4], "slide_m": [0.0, 0.2]},
            "radius_m": 0.01,
        }
    ],
}


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A hinge that is opened once, with forces, a calibration, verdicts and a hostile remark."""
    path = tmp_path / "door.mcap"
    with Recorder(path, metadata={"object": "door", "note": NASTY}) as recorder:
        recorder.document("rig", {"config": {"mocap": {"body": "gripper"}, "gravity": [0, 0, -9.81]}}, T0)
        recorder.document("calibration", {"method": "pivot", "offset_m": [0.0, 0.0, 0.1], "position_std_m": 4e-4}, T0)
        for i in range(240):
            angle = 1.5 * (0.5 - 0.5 * np.cos(np.pi * i / 239))
            x, y = 0.2 + 0.7 * np.cos(angle), 1.0 + 0.7 * np.sin(angle)
            t = T0 + i * 8_333_333
            state = PoseState.UNTRACKED if i == 50 else PoseState.MEASURED
            turn = (0.0, 0.0, float(np.sin(angle / 2)), float(np.cos(angle / 2)))
            recorder.poses([PoseSample(t, "gripper", i, (float(x), float(y), 0.8), turn, 1e-4, state, t, i)])
        t_ns = T0 + np.arange(2000) * 1_000_000
        load = np.column_stack([np.sin(np.arange(2000) / 200), np.ones(2000), np.zeros((2000, 4))])
        recorder.wrench_columns(t_ns, np.arange(2000), load, 0, True, t_ns)
        recorder.event(T0 + 10, {"event": "Remark", "t_ns": T0 + 10, "text": NASTY})
        verdict = {"summary": "86° of turn", "findings": [{"message": "Too quick.", "remedy": "Move more slowly."}]}
        fit = {"event": "Fitted", "node": "hinge", "takes": [0], "model": MODEL["joints"][0], "verdict": verdict}
        recorder.event(T0 + 2 * 10**9, fit)
        recorder.take(Take(1, "hinge", "movement", T0, T0 + 2 * 10**9, {"samples": 240, "measured": 239}))
    return path


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    content: dict[str, Any] = json.loads(found[1])
    return content


def test_the_page_needs_nothing_from_outside(measured: Path) -> None:
    page = render_report(open_session(measured), MODEL)
    addresses = set(re.findall(r"https?://[^\s\"'`)]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert "default-src 'none'" in page
    assert "{{" not in page


def test_names_cannot_become_markup(measured: Path) -> None:
    page = render_report(open_session(measured), MODEL | {"name": NASTY})
    assert NASTY not in page
    data = data_of(page)
    assert data["title"] == NASTY
    assert any(NASTY in line["text"] for line in data["story"])


def test_the_numbers_are_those_of_the_session(measured: Path) -> None:
    data = data_of(render_report(open_session(measured), MODEL))
    (take,) = data["takes"]
    assert take["verdict"] == {"good": False, "summary": "86° of turn", "findings": ["Too quick. Move more slowly."]}
    (turn,) = take["curves"]
    assert turn["value"][0] == pytest.approx(0.0, abs=1e-6)
    assert turn["value"][-1] == pytest.approx(1.5, abs=1e-5)
    np.testing.assert_allclose(np.array(take["points"])[:, 2], 0.9, atol=1e-9)  # the tip lies 0.1 m above the body
    assert len(take["points"]) == 239
    assert max(take["forces"]["peak"]) == pytest.approx(np.sqrt(2), abs=1e-3)
    assert data["nodes"][1]["measured_at"] == {"hinge.turn": 0.3}


def test_without_a_model_the_recorded_fits_are_shown(measured: Path) -> None:
    data = data_of(render_report(open_session(measured)))
    assert [node["name"] for node in data["nodes"]] == ["hinge"]


def test_sessions_with_hardly_anything_still_make_a_page(tmp_path: Path, recorded: Path) -> None:
    Recorder(tmp_path / "empty.mcap", metadata={}).close()
    log = tmp_path / "log.txt"
    log.write_text("1 2 3 0 0 0 1\n1 2 4 0 0 0 1\n")
    imported = import_recording(log, tmp_path / "log.mcap").path
    cut = tmp_path / "cut.mcap"
    cut.write_bytes(recorded.read_bytes()[:-9000])
    for path in (tmp_path / "empty.mcap", imported, recorded, cut):
        assert data_of(render_report(open_session(path)))["title"]
    assert "not ended properly" in data_of(render_report(open_session(cut)))["health"]["problems"][0]


# In a browser.

PROBE = """
<script>
const slide = (id, value) => {
  const input = document.querySelector(`[data-coordinate="${id}"]`);
  input.value = value;
  input.dispatchEvent(new Event("input"));
};
const picture = () => document.getElementById("model").toDataURL();
const before = picture(), home = model.frames();
slide("hinge.turn", 0.8);
slide("bolt.slide", 0.05);
slide("bar.turn", -0.2);
const after = picture();
document.querySelector("header button").click();
const frames = Object.fromEntries(Object.entries(model.frames()).map(([k, v]) => [k, v.moved]));
document.title = JSON.stringify({
  moved: before !== after, themed: after !== picture(), frames, rest: home.bar.moved,
  shown: [...document.querySelectorAll("output")].map((o) => o.textContent),
  charts: document.querySelectorAll(".chart path").length, rows: document.querySelectorAll("tbody tr").length,
  images: document.querySelectorAll("img").length,
});
</script>
"""


def browse(page: str, folder: Path) -> tuple[dict[str, Any], list[str]]:
    """What the probe found in Chromium, and what the console said."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("Chromium is not installed: the report is not drawn")
    file = folder / "report.html"
    file.write_text(page.replace("</body>", PROBE + "</body>"), encoding="utf-8")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    done = subprocess.run(
        [chromium, *options, f"--user-data-dir={folder / 'profile'}", "--window-size=1280,900", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.DOTALL)
    assert title, done.stdout[:2000]
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return json.loads(title[1].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")), console


def moved(chain: list[tuple[dict[str, Any], float, float]]) -> np.ndarray:
    at = np.eye(4)
    for node, turn, slide in chain:
        origin = node["origin"]
        fixed = se3.frame(se3.complete_axis(origin["axis"], origin["x_axis"]), origin["position_m"])
        at = at @ fixed @ se3.frame(se3.rotation_z(turn), [0, 0, slide])
    return at


@pytest.mark.timeout(110)
def test_in_chromium_the_sliders_move_the_model(measured: Path, tmp_path: Path) -> None:
    seen, console = browse(render_report(open_session(measured), MODEL), tmp_path)
    assert console == []
    assert seen["moved"]
    assert seen["themed"]
    assert seen["shown"] == ["45.8°", "50 mm", "-11.5°", "0 mm"]
    assert seen["images"] == 0
    assert seen["rows"] == 3 + 2
    assert seen["charts"] >= 1 + 3 + 4 + 3
    hinge, bolt = MODEL["joints"]
    (bar,) = MODEL["handles"]
    expected = {
        "hinge": moved([(hinge, 0.8, 0.0)]),
        "bolt": moved([(hinge, 0.8, 0.0), (bolt, 0.0, 0.05)]),
        "bar": moved([(hinge, 0.8, 0.0), (bar, -0.2, 0.0)]),
    }
    for name, pose in expected.items():
        np.testing.assert_allclose(np.reshape(seen["frames"][name], (4, 4)), pose, atol=1e-9)
