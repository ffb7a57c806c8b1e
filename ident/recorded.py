"""What a session says of itself before anything is computed: its rig and its sensor."""

from devices.netft import SensorCalibration
from ident.config import RigConfig, recorded_config
from ident.errors import IdentError
from sessions import Session


def recorded_rig(session: Session) -> RigConfig:
    """Configuration of the rig that a session was recorded with."""
    document = session.documents().get("rig")
    if document is None:
        raise IdentError(f"{session.path} does not say with which rig it was recorded.")
    try:
        return recorded_config(document["config"])
    except (KeyError, TypeError, ValueError) as error:
        raise IdentError(f"{session.path} describes its rig in a way that cannot be read: {error}.") from None


def recorded_calibration(session: Session) -> SensorCalibration | None:
    """Counts and units of the force/torque sensor that a session was recorded with."""
    told = session.documents().get("rig", {}).get("ft_calibration")
    return None if told is None else SensorCalibration(**{**told, "bias_counts": tuple(told["bias_counts"])})
