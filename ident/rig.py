"""The devices of a rig, opened together and closed together."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any, Self

from devices.ati_serial import AtiSerial
from devices.buffer import PoseBuffer, WrenchBuffer
from devices.clock import HostClock
from devices.errors import DeviceError, Stale
from devices.natnet import NatNetClient
from devices.netft import NetFT, SensorCalibration
from devices.samples import DeviceEvent, PoseSample, PoseState, Press
from devices.trigger import Trigger, TriggerConfig
from ident.config import RigConfig
from ident.drivers import natnet_config, netft_config, serial_config

CONNECT_TIMEOUT_S = 5.0
"""Real seconds that a device has to answer when the rig is opened."""

STALE_S = 0.5
"""Age in host seconds beyond which the last sample no longer says what is happening now."""


@dataclass(frozen=True)
class Listeners:
    """Who is told what the devices deliver; called from the devices' threads."""

    datagram: Callable[[str, int, bytes], None] | None = None
    poses: Callable[[Sequence[PoseSample]], None] | None = None
    wrenches: Callable[..., None] | None = None
    event: Callable[[DeviceEvent], None] | None = None
    press: Callable[[Press], None] | None = None


@dataclass(frozen=True)
class DeviceStatus:
    """One line of the rig check."""

    device: str
    """``mocap``, ``ft`` or ``trigger``."""
    address: str
    state: str
    """A word or two: ``streaming``, ``silent``, ``not tracked``."""
    rate_hz: float = 0.0
    details: str = ""
    problem: str = ""
    """Empty, or a sentence with what to do next."""


@dataclass
class Rig:
    """Open devices with their buffers. Use it as a context manager, so that everything is always closed."""

    config: RigConfig
    clock: HostClock
    listeners: Listeners = field(default_factory=Listeners)

    def __post_init__(self) -> None:
        self.mocap = NatNetClient(
            natnet_config(self.config.mocap),
            self.clock,
            tap=self.listeners.datagram,
            on_event=self.listeners.event,
            on_poses=self.listeners.poses,
        )
        self.ft = self._force_torque()
        self.trigger: Trigger | None = None
        if self.config.trigger is not None:
            settings = TriggerConfig(**self.config.trigger.model_dump())
            press = self.listeners.press or _nobody_listens
            self.trigger = Trigger(settings, self.clock, on_press=press, on_event=self.listeners.event)

    def _force_torque(self) -> NetFT | AtiSerial | None:
        ft = self.config.ft
        if ft is None:
            return None
        hear = self.listeners
        if ft.driver == "netft":
            return NetFT(
                netft_config(ft), self.clock, tap=hear.datagram, on_event=hear.event, on_wrenches=hear.wrenches
            )
        return AtiSerial(
            serial_config(ft), self.clock, tap=hear.datagram, on_event=hear.event, on_wrenches=hear.wrenches
        )

    def __enter__(self) -> Self:
        try:
            self.open()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def open(self) -> None:
        """Start every device and wait until it delivers; all failures in one error."""
        failures: list[str] = []
        for device in (self.mocap, self.ft, self.trigger):
            if device is None:
                continue
            try:
                device.start()
                device.wait_ready(CONNECT_TIMEOUT_S)
            except DeviceError as error:
                failures.append(str(error))
        if failures:
            raise DeviceError("\n".join(failures))

    def close(self) -> None:
        """Stop every device."""
        for device in (self.mocap, self.ft, self.trigger):
            if device is not None:
                device.stop()

    @property
    def body(self) -> PoseBuffer:
        """Poses of the gripper's tracked body."""
        return self.mocap.buffers[self.config.mocap.body]

    @property
    def reference(self) -> PoseBuffer | None:
        """Poses of the body that is fixed to the object, where the rig has one."""
        name = self.config.mocap.reference
        return None if name is None else self.mocap.buffers[name]

    @property
    def wrenches(self) -> WrenchBuffer | None:
        """Wrenches of the force/torque sensor, where the rig has one."""
        return None if self.ft is None else self.ft.buffer

    def sensor_calibration(self) -> SensorCalibration | None:
        """Counts, units and serial number of the force/torque sensor, where the rig has one."""
        if self.ft is None:
            return None
        return self.ft.calibration if isinstance(self.ft, NetFT) else self.ft.config.calibration

    def check(self) -> tuple[DeviceStatus, ...]:
        """Look at each device once."""
        statuses = [self._check_mocap()]
        if self.ft is not None:
            statuses.append(self._check_ft(self.ft))
        if self.trigger is not None:
            statuses.append(self._check_trigger(self.trigger))
        return tuple(statuses)

    def _check_mocap(self) -> DeviceStatus:
        now = self.clock.now_ns()
        health = self.mocap.health()
        address = f"{self.config.mocap.server}:{self.config.mocap.command_port}"
        body = self.config.mocap.body
        rate = self.body.rate(now)
        try:
            sample = self.body.latest(now, int(STALE_S * 1e9))
        except Stale as error:
            return DeviceStatus("mocap", address, "silent", rate, "", str(error))
        details = (
            f"{body}, {health.server}, NatNet {'.'.join(map(str, health.version or ()))}, "
            f"latency {health.latency_median_ms:.1f} ms, {health.lost_frames} frames lost"
        )
        if sample.state is not PoseState.MEASURED:
            why = {
                PoseState.UNTRACKED: "is not tracked. Bring its markers into the cameras' view.",
                PoseState.FROZEN: "repeats its last pose. Bring its markers into the cameras' view.",
                PoseState.INACCURATE: f"has a mean marker error of {sample.mean_error * 1e3:.1f} mm. "
                "Clean the markers or calibrate the cameras.",
            }[sample.state]
            return DeviceStatus("mocap", address, sample.state.name.lower(), rate, details, f"The body '{body}' {why}")
        return DeviceStatus("mocap", address, "tracking", rate, details)

    def _check_ft(self, ft: NetFT | AtiSerial) -> DeviceStatus:
        now = self.clock.now_ns()
        settings = self.config.ft
        address = "" if settings is None else (settings.host if settings.driver == "netft" else settings.port)
        rate = ft.buffer.rate(now)
        try:
            sample = ft.buffer.latest(now, int(STALE_S * 1e9))
        except Stale as error:
            return DeviceStatus("ft", address, "silent", rate, "", str(error))
        details = f"load {sum(f * f for f in sample.force) ** 0.5:.1f} N"
        if isinstance(ft, NetFT):
            health = ft.health()
            details += f", {health.account.lost} samples lost, {health.saturated} saturated"
        if not sample.valid:
            problem = f"The force/torque sensor reports status 0x{sample.status:08x}. Unload it, then check again."
            return DeviceStatus("ft", address, "not valid", rate, details, problem)
        return DeviceStatus("ft", address, "streaming", rate, details)

    def _check_trigger(self, trigger: Trigger) -> DeviceStatus:
        health = trigger.health()
        problem = "" if health.state == "streaming" else health.last_error
        return DeviceStatus("trigger", trigger.config.port, health.state, 0.0, f"{health.presses} presses", problem)


def _nobody_listens(_: Press) -> None:
    """Presses are heard by the workflow; a check has none."""


def describe(rig: Rig) -> dict[str, Any]:
    """What a session should know about the rig, as JSON-ready data."""
    known = rig.sensor_calibration()
    calibration = None if known is None else asdict(known)
    return {
        "config": rig.config.model_dump(mode="json"),
        "bodies": list(rig.mocap.bodies),
        "speed": rig.clock.speed,
        "ft_calibration": calibration,
    }
