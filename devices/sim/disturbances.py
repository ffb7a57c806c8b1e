"""Everything that makes a simulated take differ from the ideal one, in one place. Zero switches an effect off.

``docs/simulation.md`` gives the source of each figure.
"""

import tomllib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from devices.errors import DeviceError


@dataclass(frozen=True, slots=True)
class Disturbances:
    """Sizes of all effects; σ is a standard deviation per axis."""

    # Motion capture
    position_noise_mm: float = 0.4
    """White noise of the tracked body's position, σ."""
    orientation_noise_deg: float = 0.07
    """White noise of its orientation, σ."""
    correlated_position_mm: float = 0.1
    """Slow part of the position noise, σ."""
    correlated_orientation_deg: float = 0.02
    """Slow part of the orientation noise, σ."""
    correlation_s: float = 0.3
    """Time constant of the slow parts."""
    volume_error_mm: float = 0.1
    """Smooth distortion of the tracked volume, rms, about a metre from crest to crest."""
    occlusion_chance: float = 0.25
    """Chance that the body is hidden once during a normal take."""
    occlusion_s: float = 0.25
    """Mean length of an occlusion; the last pose is repeated meanwhile."""
    occlusion_flagged: bool = True
    """Whether the server clears tracking-valid while it repeats a pose (older servers do not)."""
    lost_frames: float = 0.001
    """Share of frames that never leave the server."""
    exposure_delay_ms: float = 6.0
    """From mid-exposure to transmission."""
    exposure_jitter_ms: float = 0.3
    """Scatter of that delay, half-normal."""

    # The gripper
    body_offset_m: float = 0.18
    """Distance from the tip to the tracked body's pivot."""
    body_turned: bool = True
    """Body axes are the world's at the moment of its creation; else those of the tip."""
    sensor_tilt_deg: float = 0.3
    """Mounting error of the F/T sensor against the gripper's axes; 180 is an arbitrary orientation."""
    mass_kg: float = 0.5
    """What hangs on the sensor."""
    force_bias_n: float = 5.0
    """Sensor bias, uniform ±."""
    torque_bias_nm: float = 0.3
    force_noise_n: float = 0.05
    """White noise of the sensor, σ."""
    torque_noise_nm: float = 0.002

    # The hand
    tremor_mm: float = 0.1
    """Tremor of 6–12 Hz of a hand in the air, σ; half of it reaches a clamped tip."""
    tremor_deg: float = 0.06
    """The same about each axis."""
    sway_mm: float = 0.15
    """Slow play (below 1 Hz) of the grip, σ; in the air five times as much."""
    sway_deg: float = 0.1
    unevenness: float = 0.5
    """How uneven the speed of a sweep is, 0 … 0.9."""
    pause_chance: float = 0.4
    """Chance of one hesitation in a sweep."""
    grip_turn_deg: float = 15.0
    """Largest turn of the grip about the bar during a part of a normal take."""
    grip_turn_chance: float = 0.5
    """Chance of such a turn."""
    slide_mm: float = 1.5
    """Largest excursion along the bar during a part of a normal take."""
    stray: float = 1.0
    """Factor on the straying that the scene states for its joints."""
    shake: float = 1.0
    """Factor on the sticking and jumping that the scene states."""
    seat_mm: float = 0.3
    """How far the bar sits off the groove's middle, per grip, σ."""
    seat_deg: float = 0.3
    """Tilt of the bar in the groove, per grip, σ."""
    end_force_n: float = 8.0
    """Mean push against an end stop."""
    side_force: float = 0.2
    """Force across the movement as a share of the force along it."""

    # Clocks
    ticks_drift_ppm: float = 45.0
    """The mocap server's tick clock against the host's."""
    sample_drift_ppm: float = 20.0
    """The devices' sampling against the host's clock."""

    @classmethod
    def none(cls) -> Self:
        """No effect at all but the geometry: a body off the tip and an aligned sensor with the gripper's weight."""
        off: dict[str, Any] = {f.name: 0.0 for f in fields(cls) if isinstance(f.default, float)}
        off |= {"correlation_s": 0.3, "body_offset_m": 0.18, "mass_kg": 0.5, "exposure_delay_ms": 6.0}
        return cls(**off)

    @classmethod
    def from_table(cls, table: dict[str, Any], base: Self | None = None) -> Self:
        """Values from a TOML or JSON table over ``base`` (the defaults); unknown names and wrong types raise."""
        known = {f.name: f.type for f in fields(cls)}
        problems: list[str] = []
        values: dict[str, float | bool] = {}
        for name, value in table.items():
            if name not in known:
                problems.append(f"unknown disturbance {name!r}")
            elif known[name] in (bool, "bool"):
                if isinstance(value, bool):
                    values[name] = value
                else:
                    problems.append(f"{name} must be true or false, not {value!r}")
            elif isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= abs(value) < 1e6:
                problems.append(f"{name} must be a number, not {value!r}")
            else:
                values[name] = float(value)
        if problems:
            raise DeviceError("; ".join(problems) + f". Known are: {', '.join(known)}.")
        return replace(base if base is not None else cls(), **values)  # type: ignore[arg-type]

    @classmethod
    def from_file(cls, path: Path, base: Self | None = None) -> Self:
        """Values from a TOML file."""
        try:
            return cls.from_table(tomllib.loads(path.read_text("utf-8")), base)
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise DeviceError(f"Disturbances file {path} cannot be read: {error}.") from error
