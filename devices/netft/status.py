"""What the bits of a record's status word mean, for the Net Box and for the Ethernet Axia."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Product = Literal["netbox", "axia"]


@dataclass(frozen=True)
class StatusTable:
    """The meaning of each bit, which of them say saturation, and which leave the values good."""

    product: Product
    bits: Mapping[int, str]
    summary: int
    """Mask of the bit that says "any of the others"."""
    saturation: int
    """Mask of the bits that say that the load is outside the sensor's range."""
    harmless: int
    """Mask of the bits that say nothing against the values."""

    def describe(self, status: int) -> str:
        """The set bits in words, highest first; ``"ok"`` when none is set."""
        detail = status & ~self.summary
        shown = detail or status
        names = [self.bits.get(bit, f"unknown bit {bit}") for bit in range(31, -1, -1) if shown >> bit & 1]
        return ", ".join(names) or "ok"

    def valid(self, status: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Whether the values that came with each status word can be trusted.

        The summary bit counts against them only where nothing harmless explains it.
        """
        harmful = status & np.uint32(~(self.summary | self.harmless) & 0xFFFFFFFF)
        unexplained = (status & np.uint32(self.summary) != 0) & (status & np.uint32(self.harmless) == 0)
        return np.asarray((harmful == 0) & ~unexplained)

    def saturated(self, status: NDArray[np.uint32]) -> NDArray[np.bool_]:
        """Whether each status word says that the load is outside the sensor's range."""
        return np.asarray(status & np.uint32(self.saturation) != 0)


NETBOX = StatusTable(
    product="netbox",
    bits=MappingProxyType(
        {
            31: "error",
            30: "CPU or RAM error",
            29: "digital board error",
            28: "analog board error",
            27: "link between the boards fails",
            26: "program memory differs from its checksum",
            25: "halted by a configuration error",
            24: "settings out of range",
            23: "configuration does not fit the calibration",
            22: "network failure",
            21: "CAN failure",
            20: "RDT failure",
            19: "EtherNet/IP failure",
            18: "DeviceNet failure",
            17: "transducer saturated",
            16: "threshold condition latched",
            14: "watchdog time-out",
            13: "stack error",
            12: "EEPROM failure",
            11: "flash failure",
            10: "analog board's watchdog time-out",
            9: "strain gauge current too high",
            8: "strain gauge current too low",
            7: "analog ground out of range",
            6: "analog supply too high",
            5: "analog supply too low",
            4: "no data from the analog board",
            3: "reference voltage wrong",
            2: "temperature out of range",
            1: "web server failure",
        }
    ),
    summary=1 << 31,
    saturation=1 << 17,
    # Latched thresholds and failures of interfaces that we do not measure through.
    harmless=1 << 16 | 1 << 18 | 1 << 19 | 1 << 21 | 1 << 1,
)

AXIA = StatusTable(
    product="axia",
    bits=MappingProxyType(
        {
            31: "error",
            30: "force or torque out of range",
            29: "calibration differs from its checksum",
            28: "simulated error",
            27: "strain gauge out of range",
            3: "busy",
            2: "strain gauge broken",
            1: "supply voltage out of range",
            0: "temperature out of range",
        }
    ),
    summary=1 << 31,
    saturation=1 << 30 | 1 << 27,
    harmless=0,
)

TABLES: Mapping[Product, StatusTable] = MappingProxyType({"netbox": NETBOX, "axia": AXIA})
