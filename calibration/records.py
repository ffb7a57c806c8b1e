"""What a stored calibration looks like: a JSON file that a person can read, checked on the way in."""

from datetime import datetime
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from calibration.ft_frame import SensorAlignment
from calibration.gravity import Load
from calibration.identity import Point, RigIdentity
from calibration.registration import Registration
from calibration.tip import Method, Tip

Array = NDArray[np.float64]
Calibration = Tip | SensorAlignment | Load | Registration
Kind = Literal["tip", "sensor", "load", "registration"]

Vector = tuple[FiniteFloat, FiniteFloat, FiniteFloat]
Matrix = tuple[tuple[FiniteFloat, ...], ...]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class TipValues(_Strict):
    """A tip; metres."""

    kind: Literal["tip"] = "tip"
    method: Method
    offset: Vector
    rotation: Matrix | None
    covariance: Matrix
    details: dict[str, FiniteFloat]

    @model_validator(mode="after")
    def _shapes(self) -> Self:
        if self.rotation is not None:
            check_rotation(self.rotation, "rotation")
        check_covariance(self.covariance, 3 if self.rotation is None else 6)
        return self

    def calibration(self, verdict: str) -> Tip:
        """Return the values as they are used."""
        rotation = None if self.rotation is None else np.array(self.rotation)
        offset, covariance = np.array(self.offset), np.array(self.covariance)
        return Tip(self.method, offset, rotation, covariance, verdict, (), dict(self.details))


class SensorValues(_Strict):
    """Orientation of the sensor in the body."""

    kind: Literal["sensor"] = "sensor"
    method: Literal["weight", "axes"]
    rotation: Matrix
    covariance: Matrix
    residual: FiniteFloat

    @model_validator(mode="after")
    def _shapes(self) -> Self:
        check_rotation(self.rotation, "rotation")
        check_covariance(self.covariance, 3)
        return self

    def calibration(self, verdict: str) -> SensorAlignment:
        """Return the values as they are used."""
        rotation, covariance = np.array(self.rotation), np.array(self.covariance)
        return SensorAlignment(self.method, rotation, covariance, self.residual, verdict)


class LoadValues(_Strict):
    """Bias and load; kilograms, metres, newtons, newton metres."""

    kind: Literal["load"] = "load"
    method: Literal["weight"] = "weight"
    mass: Annotated[FiniteFloat, Field(gt=0)]
    com: Vector
    force_bias: Vector
    torque_bias: Vector
    covariance: Matrix
    residual: FiniteFloat
    torque_residual: FiniteFloat
    gravity: Vector
    used: tuple[bool, ...]

    @model_validator(mode="after")
    def _shapes(self) -> Self:
        check_covariance(self.covariance, 10)
        return self

    def calibration(self, verdict: str) -> Load:
        """Return the values as they are used."""
        return Load(
            self.mass,
            np.array(self.com),
            np.array(self.force_bias),
            np.array(self.torque_bias),
            np.array(self.covariance),
            self.residual,
            self.torque_residual,
            np.array(self.gravity),
            np.array(self.used, dtype=bool),
            verdict,
        )


class RegistrationValues(_Strict):
    """The object's root in the world; metres."""

    kind: Literal["registration"] = "registration"
    method: Literal["points", "body", "world"]
    root2world: Matrix
    covariance: Matrix
    points: tuple[Vector, ...]

    @model_validator(mode="after")
    def _shapes(self) -> Self:
        if [len(row) for row in self.root2world] != [4] * 4 or self.root2world[3] != (0.0, 0.0, 0.0, 1.0):
            raise ValueError("root2world is no frame of 4×4 numbers")
        check_rotation(tuple(row[:3] for row in self.root2world[:3]), "root2world")
        check_covariance(self.covariance, 6)
        return self

    def calibration(self, verdict: str) -> Registration:
        """Return the values as they are used."""
        points = np.array(self.points, dtype=float).reshape(-1, 3)
        return Registration(self.method, np.array(self.root2world), np.array(self.covariance), points, verdict)


Values = Annotated[TipValues | SensorValues | LoadValues | RegistrationValues, Field(discriminator="kind")]


class Record(_Strict):
    """One stored calibration: what, of which rig, when, how good."""

    format: Literal["ident calibration"] = "ident calibration"
    version: Literal[1] = 1
    created: AwareDatetime
    body: str
    serials: dict[str, str]
    markers: tuple[Point, ...]
    """In the body frame, metres; empty where the motion capture does not describe them."""
    verdict: str
    values: Values

    @property
    def kind(self) -> Kind:
        """What was calibrated."""
        return self.values.kind

    @property
    def identity(self) -> RigIdentity:
        """The rig that it belongs to."""
        return RigIdentity(self.body, self.serials, self.markers)

    def calibration(self) -> Calibration:
        """Return the values as they are used."""
        return self.values.calibration(self.verdict)


def record_of(calibration: Calibration, identity: RigIdentity, created: datetime) -> Record:
    """Describe a calibration for the store; which samples agreed stays with the session."""
    return Record(
        created=created,
        body=identity.body,
        serials=dict(identity.serials),
        markers=identity.markers,
        verdict=calibration.verdict,
        values=values_of(calibration),
    )


def values_of(calibration: Calibration) -> Values:
    """A calibration as checked data that can be written."""
    match calibration:
        case Tip():
            rotation = None if calibration.rotation is None else _matrix(calibration.rotation)
            return TipValues(
                method=calibration.method,
                offset=_vector(calibration.offset),
                rotation=rotation,
                covariance=_matrix(calibration.covariance),
                details=calibration.details,
            )
        case SensorAlignment():
            return SensorValues(
                method=calibration.method,
                rotation=_matrix(calibration.rotation),
                covariance=_matrix(calibration.covariance),
                residual=calibration.residual,
            )
        case Load():
            return LoadValues(
                mass=calibration.mass,
                com=_vector(calibration.com),
                force_bias=_vector(calibration.force_bias),
                torque_bias=_vector(calibration.torque_bias),
                covariance=_matrix(calibration.covariance),
                residual=calibration.residual,
                torque_residual=calibration.torque_residual,
                gravity=_vector(calibration.gravity),
                used=tuple(bool(u) for u in calibration.used),
            )
        case Registration():
            return RegistrationValues(
                method=calibration.method,
                root2world=_matrix(calibration.root2world),
                covariance=_matrix(calibration.covariance),
                points=tuple(_vector(p) for p in calibration.points),
            )


def check_rotation(rows: Matrix, name: str) -> None:
    """Raise ValueError for anything but a right-handed rotation of 3×3 numbers."""
    if [len(row) for row in rows] != [3] * 3:
        raise ValueError(f"{name} is not 3×3")
    r = np.array(rows)
    if np.abs(r.T @ r - np.eye(3)).max() > 1e-6 or np.linalg.det(r) < 0.0:
        raise ValueError(f"{name} is no rotation")


def check_covariance(rows: Matrix, size: int) -> None:
    """Raise ValueError for anything but a symmetric matrix of the given size without negative variances."""
    if [len(row) for row in rows] != [size] * size:
        raise ValueError(f"covariance is not {size}×{size}")
    c = np.array(rows)
    scale = np.sqrt(np.maximum(np.diag(c), 1e-300))
    relative = c / np.outer(scale, scale)
    if np.diag(c).min() < 0.0 or np.abs(relative - relative.T).max() > 1e-6:
        raise ValueError("covariance is not symmetric with variances of 0 and more")


def _vector(values: Array) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in values)
    return x, y, z


def _matrix(values: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(v) for v in row) for row in values)
