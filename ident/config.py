"""``rig.toml``: the devices of a lab with their addresses, and what counts as a good take."""

import copy
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ident.toml_file import TomlFile
from ident.workflow.quality import QualityLimits

Port = Annotated[int, Field(ge=1, le=65535)]


class Section(BaseModel):
    """A table of the rig file; a misspelt key is an error, not a default."""

    # Most commands check one rig or none: what checks it is made then, and once for all tables.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, defer_build=True)


class Mocap(Section):
    """Motion capture: OptiTrack Motive through NatNet."""

    driver: Literal["natnet", "natnetclient"] = "natnet"
    server: str = "127.0.0.1"
    command_port: Port = 1510
    data_port: Port = 1511
    multicast: str | None = None
    """Group address, for example 239.255.42.99; absent means unicast."""
    interface: str = ""
    """Address of the network card that Motive is connected to; empty lets the system choose."""
    body: str = "gripper"
    reference: str | None = None
    """Second tracked body, fixed to the object, in whose frame everything is measured."""
    max_mean_error_m: Annotated[float, Field(gt=0.0, lt=0.1)] = 0.002


class Counts(Section):
    """How a sensor's counts become newtons, from its calibration sheet; for sensors that cannot be asked."""

    counts_per_force: Annotated[float, Field(gt=0.0)]
    counts_per_torque: Annotated[float, Field(gt=0.0)]
    force_unit: str = "N"
    torque_unit: str = "Nm"
    serial: str = ""


class ForceTorque(Section):
    """ATI force/torque sensor, over the network or a serial line."""

    driver: Literal["netft", "ati_serial"] = "netft"
    host: str = "192.168.1.1"
    rdt_port: Port = 49152
    http_port: Port = 80
    mode: Literal["realtime", "buffered"] = "realtime"
    product: Literal["netbox", "axia"] | None = None
    """Whose status table holds; by default what the sensor's product name says."""
    port: str = ""
    """Serial port, for ``ati_serial``."""
    format: Literal["ctl-ascii", "ctl-binary", "axia"] = "ctl-ascii"
    baud: Annotated[int, Field(gt=0)] = 115200
    latency_s: Annotated[float, Field(gt=-1.0, lt=1.0)] = 0.0
    """How much later an event shows in this sensor's stream than in the poses; ``ident check --latency`` finds it."""
    calibration: Counts | None = None

    @model_validator(mode="after")
    def _serial_needs_a_port(self) -> Self:
        if self.driver == "ati_serial" and not (self.port and self.calibration):
            raise ValueError("driver ati_serial needs a port and a [ft.calibration] table")
        return self


class Trigger(Section):
    """Button on the gripper, or pedal."""

    port: str
    kind: Literal["bytes", "cts", "dsr"] = "bytes"
    """A microcontroller's one-byte messages, or an edge on a line of the serial port."""
    inverted: bool = False


class RigConfig(Section):
    """A whole rig file."""

    name: str = "rig"
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.80665)
    """In the world frame, m/s². Motive's own default has y up: (0, -9.80665, 0)."""
    mocap: Mocap = Field(default_factory=Mocap)
    ft: ForceTorque | None = None
    trigger: Trigger | None = None
    quality: dict[str, float] = {}

    def limits(self) -> QualityLimits:
        """Limits of a good take, with the rig's own changes."""
        return QualityLimits(**self.quality)


def load_rig(path: Path) -> RigConfig:
    """Read a rig file; raises one error that lists every problem with its line."""
    file = TomlFile(path)
    problems: list[tuple[tuple[str | int, ...], str]] = []
    config = RigConfig()
    try:
        config = RigConfig.model_validate(file.data)
    except ValidationError as error:
        problems += [(tuple(item["loc"]), _sentence(dict(item))) for item in error.errors()]
    known = {f.name for f in fields(QualityLimits)}
    quality = file.data.get("quality", {})
    for key in quality if isinstance(quality, dict) else ():
        if key not in known:
            problems.append((("quality", key), f"'{key}' is no quality limit; known are {', '.join(sorted(known))}"))
    if problems:
        raise file.refuse(problems)
    return config


def recorded_config(data: Mapping[str, Any]) -> RigConfig:
    """Configuration from a session; fields that another version knew and this one does not are left out."""
    try:
        return RigConfig.model_validate(data)
    except ValidationError as error:
        known = copy.deepcopy(dict(data))
        for item in error.errors():
            if item["type"] == "extra_forbidden":
                _remove(known, item["loc"])
        return RigConfig.model_validate(known)


def _remove(data: dict[str, Any], path: tuple[int | str, ...]) -> None:
    for key in path[:-1]:
        data = data[str(key)]
    del data[str(path[-1])]


def _sentence(item: dict[str, Any]) -> str:
    where = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return f"'{where}' is unknown; check its spelling"
    if item["type"] == "missing":
        return f"'{where}' is missing"
    value = repr(item["input"])
    shown = value if len(value) <= 60 else value[:57] + "..."
    message = str(item["msg"])
    return f"'{where}' is {shown}: {message[0].lower()}{message[1:]}"
