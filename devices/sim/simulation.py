"""One process that runs the simulated world and its servers on absolute deadlines."""

import select
import socket
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

from devices.errors import DeviceError
from devices.sim.control import ControlServer
from devices.sim.disturbances import Disturbances
from devices.sim.measurement import Rates
from devices.sim.natnet_server import GROUP, VERSIONS, NatNetServer
from devices.sim.netft_server import CalibrationPage, NetFTServer
from devices.sim.scene_file import load_scene
from devices.sim.sockets import bind_udp, free_udp_port
from devices.sim.timing import WorldClock
from devices.sim.world import World

_SLOT_S = 0.001
"""Real seconds between two wake-ups at least; what is due within goes out together."""
_LONGEST_WAIT_S = 0.05
_CATCH_UP_S = 0.05
"""Real seconds of the world that one turn works off at most, so that an overloaded machine still answers."""
_IDLE_REAL_S = 0.04
"""Real seconds of idling that are made at a time."""


@dataclass(frozen=True)
class SimulationConfig:
    """Everything about a simulated rig; port 0 takes a free one."""

    object: str = "door"
    """Name of a shipped scene, or path of a scene file."""
    seed: int = 1
    speed: float = 1.0
    """World seconds per second."""
    natnet_version: tuple[int, int] = (4, 1)
    multicast: bool = False
    mocap_hz: int = 120
    ft_hz: int = 1000
    reference: bool = False
    """Whether a second body ``object`` is fixed to the object's root."""
    extra_bodies: int = 0
    torque_unit: str = "Nm"
    host: str = "127.0.0.1"
    command_port: int = 0
    data_port: int = 0
    rdt_port: int = 0
    http_port: int = 0
    control_port: int = 0
    disturbances: Disturbances = field(default_factory=Disturbances)
    movements_before: int = 0
    """Movements made before a restart, so that those after it are other ones."""
    q: Mapping[str, float] = field(default_factory=dict)
    """Joint coordinates at the start; zero where not given."""

    def __post_init__(self) -> None:
        problems = []
        if self.natnet_version not in VERSIONS:
            known = ", ".join(f"{a}.{b}" for a, b in VERSIONS)
            problems.append(f"NatNet version {'.'.join(map(str, self.natnet_version))} is not one of {known}")
        if not 0.01 <= self.speed <= 50.0:
            problems.append(f"speed {self.speed} is not between 0.01 and 50")
        if not 1 <= self.mocap_hz <= 1000:
            problems.append(f"mocap rate {self.mocap_hz} Hz is not between 1 and 1000")
        if not self.mocap_hz <= self.ft_hz <= 8000:
            problems.append(f"F/T rate {self.ft_hz} Hz is not between the mocap rate and 8000")
        if not 0 <= self.extra_bodies <= 30:
            problems.append(f"{self.extra_bodies} extra bodies are not between 0 and 30")
        if self.seed < 0:
            problems.append(f"seed {self.seed} is negative")
        if problems:
            raise DeviceError("The simulated rig cannot start: " + "; ".join(problems) + ".")


class Simulation:
    """World, servers and the loop that keeps their time."""

    def __init__(self, config: SimulationConfig) -> None:
        self._config = config
        scene = load_scene(config.object)
        rates = Rates(config.mocap_hz, config.ft_hz)
        self.world = World(
            scene,
            config.seed,
            config.disturbances,
            rates,
            idle_s=max(0.2, _IDLE_REAL_S * config.speed),
            movements_before=config.movements_before,
            q=config.q,
        )
        self._stopping = threading.Event()
        with ExitStack() as opened:
            self._open(config, opened)
            self._opened = opened.pop_all()

    def _open(self, config: SimulationConfig, opened: ExitStack) -> None:
        host = config.host
        self._command = opened.enter_context(bind_udp(host, config.command_port, "NatNet commands"))
        self._rdt = opened.enter_context(bind_udp(host, config.rdt_port, "RDT"))
        group = GROUP if config.multicast else None
        if group is not None:
            self._command.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(host))
        data_port = config.data_port or free_udp_port(host)
        self.clock = WorldClock(config.seed, config.speed, config.disturbances)
        self.natnet = NatNetServer(
            self.world,
            self.clock,
            self._command,
            seed=config.seed,
            version=config.natnet_version,
            multicast=group,
            data_port=data_port,
            reference=config.reference,
            extra_bodies=config.extra_bodies,
        )
        self.netft = NetFTServer(self.world, self._rdt, torque_unit=config.torque_unit)
        page = opened.enter_context(closing(CalibrationPage(host, config.http_port, self.netft.calibration)))
        control = opened.enter_context(closing(ControlServer(self, config.control_port)))
        self.endpoints: dict[str, Any] = {
            "host": host,
            "natnet_command": self._command.getsockname()[1],
            "natnet_data": data_port,
            "rdt": self._rdt.getsockname()[1],
            "http": page.port,
            "control": control.port,
            "multicast": group,
        }

    @property
    def stopping(self) -> bool:
        """Whether the simulation is about to end."""
        return self._stopping.is_set()

    def stop(self) -> None:
        """Ask the loop to end; safe from any thread and from a signal handler."""
        self._stopping.set()

    def truth(self) -> dict[str, Any]:
        """Everything that an identification should find."""
        return {**self.world.scene.truth(), **self.world.gripper.truth()}

    def mute(self, device: str, *, on: bool) -> None:
        """Let ``mocap`` or ``force`` fall silent, or speak again."""
        if device == "mocap":
            self.natnet.muted = on
        elif device == "force":
            self.netft.muted = on
        else:
            raise DeviceError(f"No device {device!r} to mute; there are mocap and force.")

    def ticks_of_frame(self, frame: float) -> int:
        """The mocap clock at a (fractional) frame number."""
        return self.clock.ticks(frame / self._config.mocap_hz)

    def run(self) -> None:
        """Serve until stopped, then close every socket."""
        # A movement is planned in another thread; without this it would delay frames by 5 ms.
        sys.setswitchinterval(0.0005)
        with self._opened:
            while not self.stopping:
                self._turn()

    def _turn(self) -> None:
        began = time.monotonic()
        rates = self.world.rates
        reached = min(self.natnet.next_frame / rates.mocap_hz, self.netft.next_record / rates.ft_hz)
        now = min(self.clock.now(), reached + _CATCH_UP_S * self.clock.rate)
        self.world.extend(int(now * rates.mocap_hz) + 2)
        self.natnet.emit(now)
        self.netft.emit(now)
        self.world.retire(self.natnet.next_frame, self.netft.next_record)
        due = min(self.natnet.due(), self.netft.next_record / rates.ft_hz)
        wait = max(self.clock.until(due), _SLOT_S - (time.monotonic() - began), 0.0)
        readable, _, _ = select.select((self._command, self._rdt), (), (), min(wait, _LONGEST_WAIT_S))
        if self._command in readable:
            self.natnet.answer()
        if self._rdt in readable:
            self.netft.answer()
