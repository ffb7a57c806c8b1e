"""ATI network force/torque sensors (Net F/T boxes, Ethernet Axia): RDT over UDP, calibration over HTTP."""

from devices.netft.api import SensorCalibration, parse_api, render_api
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
    "Malformed",
    "Request",
    "SensorCalibration",
    "decode_records",
    "decode_request",
    "encode_records",
    "encode_request",
    "parse_api",
    "render_api",
]
