"""``netftapi2.xml``, in which a sensor tells its calibration: document to value and back, pure."""

import math
from dataclasses import asdict, dataclass
from typing import Any
from xml.etree.ElementTree import Element, ParseError, SubElement, tostring

import numpy as np
from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring
from numpy.typing import NDArray

from devices.netft.rdt import Malformed
from devices.netft.status import Product

MAX_DOCUMENT = 256 * 1024
"""Bytes. Real documents have a few kilobytes."""

_POUND_FORCE = 4.4482216152605
_INCH = 0.0254
_KILOPOND = 9.80665

FORCE_UNITS = {"n": 1.0, "kn": 1e3, "lbf": _POUND_FORCE, "klbf": 1e3 * _POUND_FORCE, "kgf": _KILOPOND}
"""Newtons in one unit, by its name in lower case without hyphens, dots and blanks."""
TORQUE_UNITS = {
    "nm": 1.0,
    "nmm": 1e-3,
    "knm": 1e3,
    "lbfin": _POUND_FORCE * _INCH,
    "lbfft": _POUND_FORCE * 12 * _INCH,
    "kgfcm": _KILOPOND * 1e-2,
}
"""Newton metres in one unit, by its name in the same form."""


@dataclass(frozen=True, slots=True)
class SensorCalibration:
    """How counts become newtons and newton metres, and what else is worth keeping with a session."""

    counts_per_force: float
    """Counts in one `force_unit`."""
    counts_per_torque: float
    """Counts in one `torque_unit`."""
    force_unit: str = "N"
    """As the sensor spells it."""
    torque_unit: str = "Nm"
    """As the sensor spells it."""
    product_name: str = ""
    serial: str = ""
    """Serial number of the calibration; empty where unknown."""
    rdt_rate_hz: float | None = None
    """Rate at which records are sent."""
    user_filter: str = ""
    """Setting of the sensor's low-pass filter, as the sensor says it."""
    bias_counts: tuple[float, ...] = ()
    """The bias that the sensor subtracts, in its own counts; empty where unknown."""

    def __post_init__(self) -> None:
        """Refuse what would make wrong or infinite forces."""
        for name in ("counts_per_force", "counts_per_torque"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0):
                raise Malformed(f"{name} is {value!r}, a positive number expected")
        if self.rdt_rate_hz is not None and not 0 < self.rdt_rate_hz < 1e6:
            raise Malformed(f"rdt_rate_hz is {self.rdt_rate_hz!r}, a positive number below a million expected")
        _unit(self.force_unit, FORCE_UNITS, "force")
        _unit(self.torque_unit, TORQUE_UNITS, "torque")

    @property
    def counts_per_newton(self) -> float:
        """Counts in one newton."""
        return self.counts_per_force / _unit(self.force_unit, FORCE_UNITS, "force")

    @property
    def counts_per_newton_metre(self) -> float:
        """Counts in one newton metre."""
        return self.counts_per_torque / _unit(self.torque_unit, TORQUE_UNITS, "torque")

    @property
    def scale(self) -> NDArray[np.float64]:
        """Factors (6,) that turn counts Fx Fy Fz Tx Ty Tz into newtons and newton metres."""
        return np.repeat([1.0 / self.counts_per_newton, 1.0 / self.counts_per_newton_metre], 3)

    @property
    def product(self) -> Product:
        """Which status table the product name asks for; a Net Box where the name does not say Axia."""
        return "axia" if "axia" in self.product_name.lower() else "netbox"

    def as_json(self) -> dict[str, Any]:
        """A JSON object to be stored with a session; `from_json` reads it."""
        return asdict(self) | {"bias_counts": list(self.bias_counts)}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "SensorCalibration":
        """The calibration that `as_json` wrote."""
        return cls(**value | {"bias_counts": tuple(value["bias_counts"])})


def parse_api(document: bytes) -> SensorCalibration:
    """The calibration in a ``netftapi2.xml``, or `Malformed`.

    Refuses document type declarations, entities, and more than `MAX_DOCUMENT` bytes.
    Elements are found by name at any depth, since products nest them differently.
    """
    if len(document) > MAX_DOCUMENT:
        raise Malformed(f"netftapi2.xml of {len(document)} bytes, at most {MAX_DOCUMENT} expected")
    try:
        root = fromstring(document, forbid_dtd=True)
    except DefusedXmlException as error:
        raise Malformed(f"netftapi2.xml declares a document type or entities ({type(error).__name__})") from None
    except (ParseError, ValueError, LookupError) as error:
        raise Malformed(f"netftapi2.xml is not XML: {error}") from None
    texts: dict[str, str] = {}
    for element in root.iter():
        texts.setdefault(element.tag.rsplit("}", 1)[-1].lower(), (element.text or "").strip())
    return SensorCalibration(
        counts_per_force=_number(texts, "cfgcpf"),
        counts_per_torque=_number(texts, "cfgcpt"),
        force_unit=_text(texts, "scfgfu"),
        torque_unit=_text(texts, "scfgtu"),
        product_name=texts.get("prodname", "")[:200],
        serial=texts.get("cfgcalsn", "")[:200],
        rdt_rate_hz=_number(texts, "comrdtrate") if texts.get("comrdtrate") else None,
        user_filter=texts.get("setuserfilter", "")[:200],
        bias_counts=_six_numbers(texts.get("setbias", "")),
    )


def render_api(calibration: SensorCalibration) -> bytes:
    """A ``netftapi2.xml`` that `parse_api` reads back to the same calibration."""
    root = Element("netft")
    texts = {
        "prodname": calibration.product_name,
        "setuserfilter": calibration.user_filter,
        "setbias": ";".join(f"{value:.17g}" for value in calibration.bias_counts),
        "cfgcalsn": calibration.serial,
        "cfgcpf": f"{calibration.counts_per_force:.17g}",
        "cfgcpt": f"{calibration.counts_per_torque:.17g}",
        "scfgfu": calibration.force_unit,
        "scfgtu": calibration.torque_unit,
        "comrdtrate": "" if calibration.rdt_rate_hz is None else f"{calibration.rdt_rate_hz:.17g}",
    }
    for name, text in texts.items():
        SubElement(root, name).text = text
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True))


def _unit(name: str, units: dict[str, float], quantity: str) -> float:
    key = name.lower().translate({ord(character): None for character in "-.· *"})
    try:
        return units[key]
    except KeyError:
        raise Malformed(f"unknown {quantity} unit {name[:40]!r}, one of {', '.join(units)} expected") from None


def _text(texts: dict[str, str], name: str) -> str:
    if not texts.get(name):
        raise Malformed(f"netftapi2.xml has no <{name}>")
    return texts[name]


def _number(texts: dict[str, str], name: str) -> float:
    text = _text(texts, name)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Malformed(f"<{name}> is {text[:40]!r}, a number expected")
    return value


def _six_numbers(text: str) -> tuple[float, ...]:
    """Six numbers separated by semicolons; nothing where the text is something else: only worth logging."""
    try:
        values = tuple(float(part) for part in text.split(";"))
    except ValueError:
        return ()
    return values if len(values) == 6 and all(map(math.isfinite, values)) else ()
