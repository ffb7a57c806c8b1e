"""How a network force/torque sensor is reached, and how it is doing."""

from dataclasses import dataclass
from typing import Literal

from devices.driver import State
from devices.errors import DeviceError
from devices.netft.api import SensorCalibration
from devices.netft.sequencer import Account
from devices.netft.status import TABLES, Product


@dataclass(frozen=True, slots=True)
class NetFTConfig:
    """Where the sensor is, and how to read it."""

    host: str = "192.168.1.1"
    rdt_port: int = 49152
    http_port: int = 80
    name: str = "force"
    """Name of the device in the rig, for messages."""
    mode: Literal["realtime", "buffered"] = "realtime"
    """One record a datagram, or several."""
    product: Product | None = None
    """Which status table holds; by default what the sensor's product name says."""
    calibration: SensorCalibration | None = None
    """Counts and units of a sensor whose web server cannot be asked."""
    http_timeout_s: float = 2.0
    reorder_s: float = 0.06
    """Host time for which records wait behind a gap for those that come late."""
    latency_s: float = 0.0
    """How much later an event shows in these samples than in the other devices': their times are set back by it."""
    capacity: int = 1 << 20
    """Samples that the buffer keeps: two and a half minutes at 7000 Hz."""

    def __post_init__(self) -> None:
        """Refuse what cannot work, all at once."""
        problems = [
            f"{name} is {port}, 1 to 65535 expected"
            for name, port in (("rdt_port", self.rdt_port), ("http_port", self.http_port))
            if not 0 < port < 65536
        ]
        if not self.host:
            problems.append("host is empty")
        if self.mode not in ("realtime", "buffered"):
            problems.append(f'mode is {self.mode!r}, "realtime" or "buffered" expected')
        if self.product is not None and self.product not in TABLES:
            problems.append(f"product is {self.product!r}, one of {', '.join(TABLES)} expected")
        if not self.http_timeout_s > 0:
            problems.append(f"http_timeout_s is {self.http_timeout_s}, more than 0 expected")
        if not 0 <= self.reorder_s <= 1:
            problems.append(f"reorder_s is {self.reorder_s}, 0 to 1 expected")
        if not -1 < self.latency_s < 1:
            problems.append(f"latency_s is {self.latency_s}, between -1 and 1 expected")
        if problems:
            raise DeviceError(f"Force/torque sensor {self.name!r}: {'; '.join(problems)}.")


@dataclass(frozen=True, slots=True)
class NetFTHealth:
    """How the sensor and its stream are doing, since `NetFT.start`."""

    state: State
    rate_hz: float
    """Samples per second of host time."""
    account: Account
    malformed: int
    """Datagrams that are not records."""
    foreign: int
    """Datagrams from other addresses than the sensor's."""
    kernel_drops: int
    """Datagrams that the kernel dropped because we read too slowly."""
    invalid: int
    """Samples whose status says that the values cannot be trusted, saturation included."""
    saturated: int
    reconnects: int
    takeovers: int
    """Times that the sensor measured on but its stream was gone: another client asked for it."""
    status: int
    """The latest status word."""
    status_text: str
    last_error: str
