"""A simulated rig in a child process, for programs and tests: start, ask for movements, kill, restart."""

import json
import os
import select
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devices.errors import DeviceError
from devices.sim.disturbances import Disturbances

_START_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 5.0


class SimulationError(DeviceError):
    """The simulated rig cannot do what was asked."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where the simulated devices answer."""

    host: str
    natnet_command: int
    natnet_data: int
    rdt: int
    http: int
    control: int
    multicast: str | None
    """Multicast group of the frames, or None for unicast."""


@dataclass(frozen=True, slots=True)
class Performed:
    """A movement that was made."""

    start_ticks: int
    """Mocap clock half a frame before its first frame."""
    stop_ticks: int
    """Mocap clock half a frame after its last frame."""
    info: dict[str, Any]


class SimulatedRig:
    """Servers for NatNet, RDT and HTTP on loopback, with a scene and an operator behind them.

    The same seed and the same sequence of movements give the same poses and wrenches within each movement.
    """

    def __init__(
        self,
        object: str | Path = "door",  # noqa: A002
        seed: int = 1,
        speed: float = 1.0,
        natnet_version: tuple[int, int] = (4, 1),
        multicast: bool = False,
        mocap_hz: int = 120,
        ft_hz: int = 1000,
        disturbances: Disturbances | None = None,
        *,
        reference: bool = False,
        extra_bodies: int = 0,
        torque_unit: str = "Nm",
        host: str = "127.0.0.1",
        command_port: int = 0,
        rdt_port: int = 0,
        http_port: int = 0,
    ) -> None:
        self._version = natnet_version
        self._arguments = [
            *("--object", str(object), "--seed", str(seed), "--speed", repr(speed)),
            *("--mocap-hz", str(mocap_hz), "--ft-hz", str(ft_hz)),
            *("--extra-bodies", str(extra_bodies), "--torque-unit", torque_unit, "--host", host),
            *("--command-port", str(command_port), "--rdt-port", str(rdt_port), "--http-port", str(http_port)),
            *(["--multicast"] if multicast else []),
            *(["--reference"] if reference else []),
        ]
        for name, value in asdict(disturbances or Disturbances()).items():
            self._arguments += ["--set", f"{name}={json.dumps(value)}"]
        self._movements = 0
        self._configuration: dict[str, float] = {}
        self._begun: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._endpoints: Endpoints | None = None
        self._facts: dict[str, Any] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def endpoints(self) -> Endpoints:
        """Addresses of the devices; they stay over a restart."""
        if self._endpoints is None:
            raise SimulationError("The simulated rig has not been started.")
        return self._endpoints

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The child process."""
        if self._process is None:
            raise SimulationError("The simulated rig is not running.")
        return self._process

    def start(self) -> None:
        """Start the child process and wait until its sockets answer."""
        if self._process is not None:
            raise SimulationError("The simulated rig is already running.")
        command = [sys.executable, "-m", "devices.sim", "--lifeline", *self._arguments]
        command += ["--natnet-version", ".".join(map(str, self._version))]
        command += ["--movements-before", str(self._movements), "--configuration", json.dumps(self._configuration)]
        if (ports := self._endpoints) is not None:
            command += ["--command-port", str(ports.natnet_command), "--data-port", str(ports.natnet_data)]
            command += ["--rdt-port", str(ports.rdt), "--http-port", str(ports.http)]
            command += ["--control-port", str(ports.control)]
        root = str(Path(__file__).parents[2])
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)  # noqa: S603
        try:
            self._endpoints = Endpoints(**json.loads(self._first_line(self._process)))
            self._facts = self._ask({"do": "truth"})
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the child process; does nothing if it is not running."""
        self._end(kill=False)

    def kill(self) -> None:
        """End the child process at once, as a pulled plug would."""
        self._end(kill=True)

    def restart(self, natnet_version: tuple[int, int] | None = None) -> None:
        """Start again on the same ports, with the joints where the last finished movement left them."""
        self.stop()
        if natnet_version is not None:
            self._version = natnet_version
        self.start()

    def perform(self, movement: Mapping[str, Any]) -> Performed:
        """Make a movement, and return when its last frame was sent."""
        self.begin(movement)
        return self.wait()

    def begin(self, movement: Mapping[str, Any]) -> None:
        """Begin a movement; :meth:`wait` returns when it is over."""
        if self._begun is not None:
            raise SimulationError("A movement is already being made; wait for its end first.")
        self._begun = int(self._ask({"do": "begin", "movement": dict(movement)})["index"])
        self._movements = self._begun + 1

    def start_ticks(self) -> int:
        """Mocap server's ticks at which the movement that was begun starts: when the gripper has got there."""
        if self._begun is None:
            raise SimulationError("No movement has been begun.")
        return int(self._ask({"do": "start", "index": self._begun})["start_ticks"])

    def wait(self) -> Performed:
        """Wait until the movement that was begun is over."""
        if self._begun is None:
            raise SimulationError("No movement has been begun.")
        index, self._begun = self._begun, None
        answer = self._ask({"do": "wait", "index": index})
        self._configuration = dict(answer["info"]["configuration"])
        return Performed(int(answer["start_ticks"]), int(answer["stop_ticks"]), answer["info"])

    def truth(self) -> dict[str, Any]:
        """What an identification should find: see ``docs/simulation.md``."""
        return dict(self._facts["truth"])

    def description(self) -> dict[str, Any]:
        """The object as its ``object.toml`` would describe it."""
        return dict(self._facts["description"])

    def mute(self, device: str, on: bool = True) -> None:
        """Let ``mocap`` or ``force`` fall silent while its sockets stay open, or speak again."""
        self._ask({"do": "mute", "device": device, "on": on})

    def redefine_body(self) -> None:
        """Change the marker layout of the gripper's body, as someone who creates it anew would."""
        self._ask({"do": "redefine"})

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One question over a connection of its own, so that a movement under way keeps no other thread waiting."""
        if self._process is None:
            raise SimulationError("The simulated rig is not running.")
        line = b""
        try:
            with socket.create_connection(("127.0.0.1", self.endpoints.control), _START_TIMEOUT_S) as control:
                control.settimeout(None)
                control.sendall(json.dumps(request).encode() + b"\n")
                with control.makefile("rb") as lines:
                    line = lines.readline()
        except OSError as error:
            raise SimulationError(f"The simulated rig ended{self._last_words()}. Restart it.") from error
        if not line:
            raise SimulationError(f"The simulated rig ended{self._last_words()}. Restart it.")
        answer: dict[str, Any] = json.loads(line)
        if not answer.pop("ok"):
            raise SimulationError(str(answer["error"]))
        return answer

    def _last_words(self) -> str:
        process = self._process
        if process is None:
            return ""
        try:
            _, errors = process.communicate(timeout=_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return " the conversation"
        reason = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f" with status {process.returncode}" + (f": {reason}" if reason else "")

    def _first_line(self, process: subprocess.Popen[bytes]) -> bytes:
        line = b""
        if process.stdout is not None and select.select((process.stdout,), (), (), _START_TIMEOUT_S)[0]:
            line = process.stdout.readline()
        if not line:
            process.kill()
            _, errors = process.communicate()
            reason = errors.decode("utf-8", "replace").strip().rpartition("\n")[2]
            said = reason or f"no answer within {_START_TIMEOUT_S:.0f} s"
            raise SimulationError(f"The simulated rig did not start: {said}")
        return line

    def _end(self, *, kill: bool) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if kill:
            process.kill()
        elif process.stdin is not None:
            process.stdin.close()
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        self._begun = None
