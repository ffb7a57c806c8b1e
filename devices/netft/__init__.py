"""ATI network force/torque sensors (Net F/T boxes, Ethernet Axia): RDT over UDP, calibration over HTTP."""

from importlib import import_module
from typing import TYPE_CHECKING

from devices.netft.api import SensorCalibration, parse_api, render_api
from devices.netft.config import NetFTConfig, NetFTHealth
from devices.netft.rdt import (
    Command,
    Malformed,
    Request,
    decode_records,
    decode_request,
    encode_records,
    encode_request,
)

if TYPE_CHECKING:
    from devices.netft.client import NetFT
    from devices.netft.discovery import FoundSensor, discover
    from devices.netft.http import fetch_calibration
else:
    _NETWORK = {"NetFT": "client", "FoundSensor": "discovery", "discover": "discovery", "fetch_calibration": "http"}

    def __getattr__(name: str) -> object:
        """What needs the network is imported where it is used: recorded datagrams are decoded without."""
        if name not in _NETWORK:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_NETWORK[name]}"), name)


__all__ = [
    "Command",
    "FoundSensor",
    "Malformed",
    "NetFT",
    "NetFTConfig",
    "NetFTHealth",
    "Request",
    "SensorCalibration",
    "decode_records",
    "decode_request",
    "discover",
    "encode_records",
    "encode_request",
    "fetch_calibration",
    "parse_api",
    "render_api",
]
