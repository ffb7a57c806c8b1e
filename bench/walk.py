"""Identify each demo object in a real terminal (tmux), from the first screen to the saved model, and count presses.

``python -m bench.walk [OBJECT…] [--by keys|trigger] [--size 80x24]`` starts a simulated rig, ``ident run`` with a rig
file in tmux, and an operator who only looks at what the wizard asks for: grips the part, presses to start, moves it,
presses to stop, and follows the advice; in the end they mark three points. By keys all of that is Enter; by trigger the
takes are started and stopped by a button on a serial line (a pseudo-terminal), and Enter only saves. Prints the presses
of each joint; fails where a joint whose first take was good cost more than two, and where no model was saved.
"""

import argparse
import os
import pty
import subprocess
import sys
import tempfile
import time
import tty
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from devices.sim import SimulatedRig
from devices.trigger import encode_edge
from ident.description import plan_from_tables
from ident.model import load_model
from ident.simulated import ancestors_to_places, movement_for, simulated_config
from ident.workflow.events import Proceed, event_from_dict
from ident.workflow.machine import fold, step
from ident.workflow.plan import Plan
from ident.workflow.state import PLACE, Phase, State
from sessions import SessionError, open_session

OBJECTS = ("door", "cabinet", "testbench")
MOST_PRESSES = 2
PATIENCE_S = 120.0
APPROACH_S = 1.4
"""Real seconds after which the simulated gripper has reached the part and begins to move it."""
SETTLED = (Phase.CHECK, Phase.READY, Phase.VERDICT, Phase.REVIEW, Phase.FINISHED)


class Button:
    """A button with a microcontroller on a serial line: a byte for each edge."""

    def __init__(self) -> None:
        self._master, slave = pty.openpty()
        tty.setraw(slave)
        self.port = os.ttyname(slave)
        self._edges = 0

    def press(self, held_s: float = 0.1) -> None:
        """Press and let go, so many real seconds later."""
        for pressed in (True, False):
            os.write(self._master, encode_edge(pressed, self._edges))
            self._edges += 1
            time.sleep(held_s)


class Screen:
    """``ident run`` in a tmux of its own."""

    def __init__(self, command: str, size: str) -> None:
        width, height = size.split("x")
        self._tmux("new-session", "-d", "-x", width, "-y", height, command)

    def key(self, name: str = "Enter") -> None:
        """Press a key."""
        self._tmux("send-keys", name)

    def text(self) -> str:
        """What can be read."""
        return self._tmux("capture-pane", "-p")

    def close(self) -> None:
        """End the terminal, and whatever still runs in it."""
        self._tmux("kill-server")

    @staticmethod
    def _tmux(*words: str) -> str:
        done = subprocess.run(
            ["tmux", "-L", f"walk{os.getpid()}", *words], check=False, capture_output=True, text=True, timeout=30.0
        )
        return done.stdout


def main() -> int:
    """Walk through the objects."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("objects", nargs="*", default=OBJECTS)
    parser.add_argument("--by", choices=("keys", "trigger"), default="trigger")
    parser.add_argument("--size", default="80x24")
    parser.add_argument("--show", action="store_true", help="print each screen")
    arguments = parser.parse_args()
    well = [walk(name, arguments.by, arguments.size, arguments.show) for name in arguments.objects]
    return int(not all(well))


def walk(name: str, by: str, size: str, show: bool) -> bool:
    """Identify one object."""
    with tempfile.TemporaryDirectory() as place, SimulatedRig(object=name, seed=1) as sim:
        folder, button = Path(place), Button()
        plan, _ = plan_from_tables(sim.description())
        command = _command(folder, sim, plan, button)
        screen = Screen(command, size)
        try:
            state, presses, good_at_once = _operate(
                folder, sim, screen, button.press if by == "trigger" else None, show
            )
        finally:
            screen.close()
        counts = [f"{n.name} {presses[n.name]}" for n in plan.depth_first()]
        print(f"{name} by {by}, {size}: presses for each joint and handle: {', '.join(counts)}")
        print(f"  for tip, weight and place: {presses['']}")
        print(
            f"  {len(state.takes)} takes; at once good: {', '.join(sorted(good_at_once - {''})) or 'none'}", flush=True
        )
        models = list((folder / "out").glob("*.model.json"))
        saved = bool(models) and set(load_model(models[0]).nodes) == {n.name for n in plan}
        return saved and all(presses[node] <= MOST_PRESSES for node in good_at_once if node)


def _command(folder: Path, sim: SimulatedRig, plan: Plan, button: Button) -> str:
    config = simulated_config(sim)
    ft = config.ft
    (folder / "rig.toml").write_text(
        f'name = "bench"\n\n[mocap]\nserver = "{config.mocap.server}"\ncommand_port = {config.mocap.command_port}\n'
        f'data_port = {config.mocap.data_port}\nbody = "gripper"\n'
        + (f'\n[ft]\nhost = "{ft.host}"\nrdt_port = {ft.rdt_port}\nhttp_port = {ft.http_port}\n' if ft else "")
        + f'\n[trigger]\nport = "{button.port}"\n'
    )
    lines = [f'name = "{plan.name}"']
    for node in plan:
        head = f'name = "{node.name}"\nparent = "{node.parent}"\n'
        if node.is_handle:
            lines.append(f"[[handle]]\n{head}dof = {node.kind[-1]}\nradius_m = {node.radius_m}\n")
        else:
            lines.append(f'[[joint]]\n{head}type = "{node.kind}"\n')
    (folder / "object.toml").write_text("\n".join(lines))
    run = f"{sys.executable} -m ident.cli run --rig {folder}/rig.toml {folder}/object.toml --recalibrate"
    return f"env HOME={folder} {run} --session {folder}/walk.mcap --out {folder}/out"


def _operate(
    folder: Path, sim: SimulatedRig, screen: Screen, trigger: Callable[[], None] | None, show: bool
) -> tuple[State, Counter[str], set[str]]:
    """Do what the wizard asks for until the model is saved."""
    presses: Counter[str] = Counter()
    spoilt: set[str] = set()
    state = _settled(folder, screen, None)
    while state.phase is not Phase.FINISHED:
        if show:
            print(screen.text(), flush=True)
        before, node = state, state.target.node if state.target else ""
        if state.phase is Phase.REVIEW and not state.step(PLACE).done:
            screen.key("o")
            presses["(mark points)"] += 1
            state = _settled(folder, screen, before)
            continue
        press = screen.key if trigger is None or state.phase not in (Phase.READY, Phase.VERDICT) else trigger
        if before.phase in (Phase.READY, Phase.VERDICT):
            spoilt |= {node} if before.phase is Phase.VERDICT else set()
            _grip(sim, state)
            press()
            presses[node] += 1
            time.sleep(1.0)
            if show:
                print(screen.text(), flush=True)
            sim.wait()
        press()
        presses[node if before.phase is not Phase.REVIEW else "(save)"] += 1
        state = _settled(folder, screen, before)
    if show:
        print(screen.text(), flush=True)
    screen.key("q")
    return state, presses, {r.node for r in state.results} - spoilt


def _grip(sim: SimulatedRig, state: State) -> None:
    """Bring the ancestors to where they should stand, go to the part, and begin to move it."""
    if state.target is None:
        raise RuntimeError("there is nothing to measure")
    begun, _ = step(replace(state, phase=Phase.READY), Proceed())
    for movement in ancestors_to_places(begun, begun.takes[-1].id):
        sim.perform(movement)
    again = sum(take.target == state.target for take in state.takes) > 0
    movement = movement_for(state.target, state)
    sim.begin({**movement, "style": "careful"} if again and "style" in movement else movement)
    time.sleep(APPROACH_S)


def _settled(folder: Path, screen: Screen, before: State | None) -> State:
    """Wait until the wizard asks for something new."""
    return _until(
        folder,
        screen,
        lambda s: (
            s.phase in SETTLED and not s.lost and s != before and (s.phase is not Phase.CHECK or bool(s.problems))
        ),
    )


def _until(folder: Path, screen: Screen, condition: Callable[[State], bool]) -> State:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        time.sleep(0.2)
        try:
            session = open_session(folder / "walk.mcap")
        except SessionError:
            continue  # It is not there yet.
        state = fold(event_from_dict(entry.content) for entry in session.events())
        if condition(state):
            return state
    raise TimeoutError(f"the wizard does not go on:\n{screen.text()}")


if __name__ == "__main__":
    sys.exit(main())
