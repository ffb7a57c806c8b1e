"""ATI force/torque sensors on a serial line: CTL controllers (text and binary) and Serial Axia."""

from devices.ati_serial.client import AtiSerial, AtiSerialConfig, AtiSerialHealth
from devices.ati_serial.protocol import BinaryDecoder, Reading, TextDecoder

__all__ = ["AtiSerial", "AtiSerialConfig", "AtiSerialHealth", "BinaryDecoder", "Reading", "TextDecoder"]
