"""`kill -9` at random moments of a demo: the session must come back at the same step, with every finished take.

python -m bench.resume_kill [COUNT] [SPEED] [SEED]

The demo writes down each state before its operator sees it. After the kill, `ident resume` is started on the
session as a user would, and what it says is compared with the last state that was seen. Then the demo goes on from
there, until it is killed again or ends: so sessions that were resumed before are killed too.
"""

import json
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devices.sim import SimulatedRig
from ident.demo import operate
from ident.description import plan_from_tables
from ident.measure import Setup, measurement
from ident.resume import restore
from ident.simulated import SimulatedHand, simulated_config
from ident.ui.lines import Lines
from ident.workflow import events as ev
from ident.workflow.state import WEIGHT, Phase, State
from ident.workflow.texts import kept

ROOT = Path(__file__).parents[1]
SCENES = ("door", "cabinet", "testbench")
LIMIT_S = 0.5
LATEST_S = 30.0
"""Host seconds within which a kill comes; an object takes one to three minutes."""


def seen(state: State) -> dict[str, Any]:
    """What must not be lost of a state."""
    return {
        "phase": state.phase.value,
        "target": [state.target.purpose, state.target.node] if state.target else None,
        "takes": [[t.id, t.samples, t.measured] for t in state.takes if t.t1_ns and t.samples],
        "stopped": [t.id for t in state.takes if t.t1_ns],
        "recording": state.recording.id if state.recording else None,
        "results": sorted(r.node for r in state.results if r.accepted),
    }


def child(folder: Path, scene: str, seed: int, speed: float) -> None:
    """The demo, with every state written to a file that survives the process."""
    progress = os.open(folder / "progress", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    states: queue.SimpleQueue[State] = queue.SimpleQueue()

    def on_change(state: State) -> None:
        os.write(progress, (json.dumps(seen(state)) + "\n").encode())
        states.put(state)

    with SimulatedRig(object=scene, seed=seed, speed=speed) as sim:
        plan, _ = plan_from_tables(sim.description())
        metadata = {"object": plan.name, "scene": scene, "seed": seed, "speed": speed, "operator": "scripted"}
        path = folder / "crash.mcap"
        resume = restore(path)[1:] if path.exists() else None
        setup = Setup(simulated_config(sim), path, folder, speed, metadata, resume=resume)
        with measurement(setup, on_change) as m, (folder / "said").open("w") as said:
            m.runner.hand = SimulatedHand(sim, m.rig.mocap.ticks_to_host, m.runner.post)
            m.runner.offers = (WEIGHT,)
            (folder / "clock").write_text(str(m.rig.clock.now_ns() - speed * time.monotonic_ns()))
            if m.runner.state.phase is Phase.DESCRIBE:
                m.runner.post(ev.Described(plan=plan.to_dict()))
            operate(m.runner, states, Lines(said, guide=False))


@dataclass(frozen=True)
class Outcome:
    """One kill and what came back."""

    phase: str
    problems: tuple[str, ...]
    lost_s: float
    """Real seconds of the unfinished take that are not in the session; 0 where none was running."""


def kill_again_and_again(folder: Path, rng: random.Random, speed: float) -> Iterator[Outcome]:
    """Kill a demo at random moments and resume it each time, until it ends."""
    scene, seed = rng.choice(SCENES), rng.randrange(100_000)
    command = [sys.executable, "-m", "bench.resume_kill", "--child", str(folder), scene, str(seed), str(speed)]
    progress = folder / "progress"
    progress.touch()
    while True:
        before = progress.stat().st_size
        process = subprocess.Popen(command, cwd=ROOT)
        while progress.stat().st_size == before and process.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, LATEST_S / speed))
        process.send_signal(signal.SIGKILL)
        killed_ns = time.monotonic_ns()
        process.wait()
        if progress.stat().st_size == before:
            raise RuntimeError("the demo did not start")
        last = json.loads(progress.read_text().splitlines()[-1])
        if last["phase"] == Phase.FINISHED:
            return
        if last["phase"] != Phase.DESCRIBE:
            yield compare(folder, last, killed_ns, speed)


def compare(folder: Path, last: dict[str, Any], killed_ns: int, speed: float) -> Outcome:
    """Resume and hold it against the last state that the operator saw."""
    path = folder / "crash.mcap"
    session, state, data = restore(path)
    now = seen(state)
    problems = []
    # An event may be on disk whose state was not shown any more: one step further is no loss.
    ahead = len(now["stopped"]) > len(last["stopped"]) or set(now["results"]) > set(last["results"])
    if not ahead and (now["phase"], now["target"]) != (last["phase"], last["target"]):
        ahead = state.phase in _NEXT.get(Phase(last["phase"]), ())
        if not ahead:
            problems.append(f"was at {last['phase']} {last['target']}, came back at {now['phase']} {now['target']}")
    for take, samples, measured in last["takes"]:
        if take not in data or (data[take].samples, data[take].measured) != (samples, measured):
            problems.append(f"take {take} had {measured} of {samples} measured, now {take in data and data[take]}")
    if not set(last["results"]) <= set(now["results"]):
        problems.append(f"fits {last['results']} became {now['results']}")
    lost_s = 0.0
    if last["recording"] is not None:
        poses = session.poses("gripper")
        killed_host = float((folder / "clock").read_text()) + speed * killed_ns
        lost_s = (killed_host - int(poses.t_ns[-1])) * 1e-9 / speed if len(poses.t_ns) else float("inf")
    said = resumed(path, folder)
    if ("Saved" if state.phase is Phase.SAVING else kept(state)) not in said:
        problems.append(f"resume said: {said[-300:]}")
    return Outcome(last["phase"], tuple(problems), lost_s)


_NEXT = {
    Phase.CHECK: (Phase.READY,),
    Phase.READY: (Phase.RECORDING,),
    Phase.WORKING: (Phase.READY, Phase.VERDICT, Phase.REVIEW),
    Phase.VERDICT: (Phase.READY, Phase.RECORDING),
    Phase.REVIEW: (Phase.SAVING,),
    Phase.SAVING: (Phase.FINISHED,),
}


def resumed(path: Path, folder: Path) -> str:
    """What `ident resume` says until it wants its first answer and gets none."""
    command = [sys.executable, "-m", "ident.cli", "resume", str(path), "--ui", "line", "--out", str(folder)]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


def main(count: int, speed: float, seed: int) -> int:
    """Kill that often; fails where something did not come back."""
    rng = random.Random(seed)
    found: list[Outcome] = []
    while len(found) < count:
        with tempfile.TemporaryDirectory() as folder:
            for outcome in kill_again_and_again(Path(folder), rng, speed):
                found.append(outcome)
                said = "; ".join(outcome.problems) or "came back"
                print(f"{len(found):3} {outcome.phase:10} {said}, lost {outcome.lost_s:.3f} s", flush=True)
                if len(found) == count:
                    break
    lost = max(o.lost_s for o in found)
    wrong = sum(bool(o.problems) for o in found)
    phases = {p: sum(o.phase == p for o in found) for p in sorted({o.phase for o in found})}
    print(f"{count} kills at {speed:g} times real time, by phase: {phases}")
    print(f"{count - wrong} came back at the same step with every finished take")
    verdict = "kept" if lost < LIMIT_S else "MISSED"
    print(f"at most {lost:.3f} s of an unfinished take were lost; limit {LIMIT_S} s: {verdict}")
    return int(wrong > 0 or lost >= LIMIT_S)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
    else:
        values = [float(word) for word in sys.argv[1:]] + [100.0, 6.0, 5.0][len(sys.argv) - 1 :]
        sys.exit(main(int(values[0]), values[1], int(values[2])))
