"""What the tables of a rig file mean to the drivers; nothing is opened here, so that a replay can use it too."""

from typing import TYPE_CHECKING

from devices.natnet import NatNetConfig
from devices.netft import NetFTConfig, SensorCalibration
from ident.config import ForceTorque, Mocap

if TYPE_CHECKING:
    from devices.ati_serial import AtiSerialConfig

LONGEST_TAKE_SAMPLES = 216_000
"""Poses that are kept for a take: ten minutes at 360 Hz."""

LONGEST_LOAD_SAMPLES = 1 << 19
"""Wrenches that are kept for a calibration: 75 s at 7000 Hz. Sessions keep all of them."""


def natnet_config(mocap: Mocap) -> NatNetConfig:
    """Driver settings of the rig file's ``[mocap]``."""
    bodies = tuple(name for name in (mocap.body, mocap.reference) if name)
    return NatNetConfig(
        server=mocap.server,
        command_port=mocap.command_port,
        data_port=mocap.data_port,
        multicast=mocap.multicast,
        interface=mocap.interface,
        bodies=bodies,
        max_mean_error_m=mocap.max_mean_error_m,
        driver=mocap.driver,
        capacity=LONGEST_TAKE_SAMPLES,
    )


def netft_config(ft: ForceTorque) -> NetFTConfig:
    """Driver settings of the rig file's ``[ft]``."""
    return NetFTConfig(
        name="ft",
        host=ft.host,
        rdt_port=ft.rdt_port,
        http_port=ft.http_port,
        mode=ft.mode,
        product=ft.product,
        calibration=None if ft.calibration is None else SensorCalibration(**ft.calibration.model_dump()),
        latency_s=ft.latency_s,
        capacity=LONGEST_LOAD_SAMPLES,
    )


def serial_config(ft: ForceTorque) -> "AtiSerialConfig":
    """Driver settings of a serial sensor in the rig file's ``[ft]``."""
    from devices.ati_serial import AtiSerialConfig

    if ft.calibration is None:
        raise ValueError("a serial sensor needs its calibration")
    counts = SensorCalibration(**ft.calibration.model_dump())
    return AtiSerialConfig(
        name="ft", port=ft.port, calibration=counts, format=ft.format, baud=ft.baud, latency_s=ft.latency_s
    )
