"""What hangs on the force/torque sensor and how it is mounted: from held orientations to loads without the gripper."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from calibration import (
    CalibrationFailure,
    Hold,
    Load,
    SensorAlignment,
    align_sensor,
    compensate,
    find_holds,
    identify_load,
)
from calibration.records import LoadValues, SensorValues, values_of
from fitting.se3 import Array
from ident.takes import TakeData
from ident.workflow.quality import Verdict

Weight = tuple[SensorAlignment, Load]
"""How the sensor is mounted, and what hangs on it."""


def holds_in(data: TakeData) -> tuple[Hold, ...]:
    """Held orientations of a take about the load, with the wrench of each."""
    if data.loads is None or not data.measured:
        return ()
    return find_holds(data.t_ns, data.poses, data.loads)


def weigh(holds: Sequence[Hold], gravity: Sequence[float]) -> Weight | CalibrationFailure:
    """Find the sensor's orientation in the body, its bias and what hangs on it."""
    rotations = np.array([h.rotation for h in holds]).reshape(-1, 3, 3)
    wrenches = np.array([h.wrench for h in holds]).reshape(-1, 6)
    valid = np.array([h.valid for h in holds], dtype=bool)
    alignment = align_sensor(rotations, wrenches[:, :3], gravity=gravity, valid=valid)
    if isinstance(alignment, CalibrationFailure):
        return alignment
    load = identify_load(rotations @ alignment.rotation, wrenches, gravity=gravity, valid=valid)
    return load if isinstance(load, CalibrationFailure) else (alignment, load)


def solve_weight(data: TakeData, gravity: Sequence[float]) -> tuple[dict[str, Any], Verdict] | str:
    """Weight and mounting of the sensor from one take, or why there are none."""
    found = weigh(holds_in(data), gravity)
    if isinstance(found, CalibrationFailure):
        return found.reason
    return weight_record(*found), Verdict(found[1].verdict)


def weight_record(alignment: SensorAlignment, load: Load) -> dict[str, Any]:
    """Both as plain data, for the event log."""
    return {
        "sensor": values_of(alignment).model_dump(mode="json"),
        "load": values_of(load).model_dump(mode="json"),
        "mass_kg": load.mass,
        "verdict": load.verdict,
        "sensor_verdict": alignment.verdict,
    }


def weight_of(record: Mapping[str, Any]) -> Weight:
    """Inverse of :func:`weight_record`."""
    sensor = SensorValues.model_validate(record["sensor"]).calibration(record["sensor_verdict"])
    return sensor, LoadValues.model_validate(record["load"]).calibration(record["verdict"])


def without_gripper(wrench: Array, body2world: Array, weight: Weight) -> Array:
    """The wrench (6,) that is left of a measured one when bias and weight are taken out; rotation (3, 3)."""
    alignment, load = weight
    return np.asarray(compensate(wrench[None], (body2world @ alignment.rotation)[None], load)[0])
