"""The keys of ``ident sim``: a person moves the simulated gripper while other programs watch."""

import select
import signal
import sys
import termios
import threading
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from devices.sim.simulation import Simulation
from ident.model.file import write_text


class SimConsole:
    """Runs a simulation in a thread and turns keys into movements."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._truth = simulation.truth()
        joints = [(item["name"], "joint") for item in self._truth["joints"]]
        self._choices = joints + [(item["name"], "handle") for item in self._truth["handles"]]
        self._chosen = 0

    def run(self, rig_file: Path | None) -> int:
        """Serve until ``q``, SIGTERM or the end of standard input's terminal."""
        rig = rig_text(self._simulation.endpoints)
        if rig_file is not None:
            write_text(rig_file, rig)
        print(f"Simulating '{self._truth['object']}'. Rig file:\n\n{rig}", flush=True)
        server = threading.Thread(target=self._simulation.run, name="simulation")
        signal.signal(signal.SIGTERM, lambda *_: self._simulation.stop())
        server.start()
        try:
            if sys.stdin.isatty():
                with _single_keys():
                    self._listen(server)
            else:
                while server.is_alive():
                    server.join(0.5)
        except KeyboardInterrupt:
            pass
        finally:
            self._simulation.stop()
            server.join()
        return 0

    def _listen(self, server: threading.Thread) -> None:
        for number, (name, kind) in enumerate(self._choices, start=1):
            print(f"  {number}  {name} ({kind})")
        print(
            "Enter sweep · u upper end · d lower end · t turn about the tip · c v turn on the bar · w weigh · q quit",
            flush=True,
        )
        while server.is_alive():
            if not select.select([sys.stdin], [], [], 0.2)[0]:
                continue
            key = sys.stdin.read(1)
            if key in ("q", "\x04", ""):
                return
            self._press(key)

    def _press(self, key: str) -> None:
        name, kind = self._choices[self._chosen]
        if key.isdigit() and 1 <= int(key) <= len(self._choices):
            self._chosen = int(key) - 1
            print(f"  chosen: {self._choices[self._chosen][0]}", flush=True)
            return
        movements: dict[str, dict[str, Any]] = {
            "\n": {"kind": kind, "name": name},
            "\r": {"kind": kind, "name": name},
            "t": {"kind": "pivot", "at": "here"},
            "c": {"kind": "about_screws"},
            "v": {"kind": "about_handle"},
            "w": {"kind": "free"},
        }
        if kind == "joint":
            movements["u"] = {"kind": "hold", "joint": name, "at": "upper"}
            movements["d"] = {"kind": "hold", "joint": name, "at": "lower"}
        movement = movements.get(key)
        if movement is None:
            print(f"  {key!r} does nothing here", flush=True)
            return
        self._simulation.world.begin(movement)
        print(f"  {movement['kind'].replace('_', ' ')} {movement.get('name', movement.get('joint', ''))}", flush=True)


def rig_text(endpoints: dict[str, Any]) -> str:
    """Rig file for programs that connect to a simulated rig."""
    lines = [
        'name = "simulated"',
        "",
        "[mocap]",
        f'server = "{endpoints["host"]}"',
        f"command_port = {endpoints['natnet_command']}",
        f"data_port = {endpoints['natnet_data']}",
    ]
    if endpoints["multicast"]:
        lines += [f'multicast = "{endpoints["multicast"]}"', f'interface = "{endpoints["host"]}"']
    lines += [
        'body = "gripper"',
        "",
        "[ft]",
        f'host = "{endpoints["host"]}"',
        f"rdt_port = {endpoints['rdt']}",
        f"http_port = {endpoints['http']}",
    ]
    return "\n".join(lines) + "\n"


@contextmanager
def _single_keys() -> Iterator[None]:
    """Read keys without waiting for Enter; the terminal is restored in any case."""
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
