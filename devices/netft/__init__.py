"""ATI network force/torque sensors (Net F/T boxes, Ethernet Axia): RDT over UDP, calibration over HTTP."""

from devices.netft.api import SensorCalibration, parse_api, render_api
from devices.netft.client import NetFT
from devices.netft.config import NetFTConfig, NetFTHealth
from devices.netft.discovery import FoundSensor, discover
from devices.netft.http import fetch_calibration
from devices.netft.rdt import (
    Command,
    Malformed,
    Request,
    decode_records,
    decode_request,
    encode_records,
    encode_request,
)

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
