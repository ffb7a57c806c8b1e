"""The control socket: JSON lines over TCP on loopback, by which a program asks for movements and for the truth.

Each request is an object with ``do``; each answer has ``ok`` and, if that is false, ``error``.
"""

import json
import socket
import threading
from typing import TYPE_CHECKING, Any

from devices.errors import DeviceError

if TYPE_CHECKING:
    from devices.sim.simulation import Simulation
    from devices.sim.world import Job

_LONGEST_LINE = 1 << 20


class ControlServer:
    """Accepts connections and answers each in a thread of its own; always on loopback."""

    def __init__(self, simulation: "Simulation", port: int) -> None:
        self._simulation = simulation
        self._jobs: dict[int, Job] = {}
        try:
            self._listener = socket.create_server(("127.0.0.1", port))
        except OSError as error:
            raise DeviceError(
                f"TCP port {port} for control cannot be opened: {error.strerror}. Choose another port."
            ) from error
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, name="sim-control", daemon=True).start()

    def close(self) -> None:
        """Accept no more; open connections end with the process."""
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), name="sim-client", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            while line := lines.readline(_LONGEST_LINE):
                try:
                    answer = {"ok": True, **self._answer(json.loads(line))}
                except (DeviceError, ValueError, TypeError, KeyError, AttributeError) as error:
                    answer = {"ok": False, "error": str(error) or type(error).__name__}
                try:
                    connection.sendall(json.dumps(answer).encode() + b"\n")
                except OSError:
                    return

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        simulation = self._simulation
        match request.get("do"):
            case "truth":
                return {"truth": simulation.truth(), "description": simulation.world.scene.description()}
            case "begin":
                job = simulation.world.begin(request["movement"])
                self._jobs[job.index] = job
                return {"index": job.index}
            case "start":
                return {"start_ticks": self._start(self._jobs[int(request["index"])])}
            case "wait":
                return self._wait(self._jobs[int(request["index"])])
            case "mute":
                simulation.mute(str(request["device"]), on=bool(request.get("on", True)))
                return {}
            case "redefine":
                simulation.natnet.redefine()
                return {}
            case "stop":
                simulation.stop()
                return {}
            case unknown:
                raise DeviceError(f"Unknown request {unknown!r}.")

    def _start(self, job: "Job") -> int:
        while not job.scheduled.wait(0.1):
            if self._simulation.stopping:
                raise DeviceError("The simulation was stopped before a movement.")
        return self._simulation.ticks_of_frame(job.first_frame - 0.5)

    def _wait(self, job: "Job") -> dict[str, Any]:
        while not job.done.wait(0.1):
            if self._simulation.stopping:
                raise DeviceError("The simulation was stopped during a movement.")
        self._jobs.pop(job.index, None)
        return {
            "start_ticks": self._simulation.ticks_of_frame(job.first_frame - 0.5),
            "stop_ticks": self._simulation.ticks_of_frame(job.end_frame - 0.5),
            "info": job.info,
        }
