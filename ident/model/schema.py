"""The shape of a model file, version 1, explained in ``docs/model-format.md``; the JSON Schema is made from it."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

FORMAT = "ident-model"
VERSION = 1
LENGTH_TOLERANCE = 1e-3
"""How far a direction or quaternion written by hand may be from unit length."""

LARGEST = 1e9
"""Metres, radians: what is larger is no measurement."""

Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST)]
Positive = Annotated[float, Field(ge=0.0, le=LARGEST)]
Vector3 = Annotated[list[Number], Field(min_length=3, max_length=3)]
Vector4 = Annotated[list[Number], Field(min_length=4, max_length=4)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Pair = Annotated[list[Number | None], Field(min_length=2, max_length=2)]


class _Part(BaseModel):
    """Unknown fields are kept; numbers must be finite; text is never taken for a number."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False, defer_build=True)


class FrameData(_Part):
    """A frame on its parent: a position, and either two axes or a quaternion."""

    position_m: Vector3 = Field(description="Origin in the parent's frame, metres.")
    axis: Vector3 | None = Field(None, description="Unit vector of the frame's z-axis in the parent's frame.")
    x_axis: Vector3 | None = Field(
        None, description="Unit vector; its part perpendicular to `axis` is the direction of the x-axis."
    )
    quaternion_xyzw: Vector4 | None = Field(None, description="Instead of the axes: a unit quaternion.")

    @model_validator(mode="after")
    def _one_orientation(self) -> "FrameData":
        if (self.axis is None) == (self.quaternion_xyzw is None):
            raise ValueError("give either axis (with x_axis) or quaternion_xyzw")
        if self.axis is not None:
            _check_length("axis", self.axis)
            if self.x_axis is None:
                raise ValueError("axis without x_axis: say also where the x-axis points")
            _check_length("x_axis", self.x_axis)
            if abs(sum(a * b for a, b in zip(self.axis, self.x_axis, strict=True))) > 0.999:
                raise ValueError("x_axis is parallel to axis")
        if self.quaternion_xyzw is not None:
            _check_length("quaternion_xyzw", self.quaternion_xyzw)
        return self


class EvidenceData(_Part):
    """How the numbers were found."""

    method: str
    samples: Annotated[int, Field(ge=0)]
    inliers: Annotated[int, Field(ge=0)]
    takes: Annotated[int, Field(ge=0)] = 1
    grip: str = ""
    rms_m: Positive
    noise_m: Positive
    axis_std_rad: Positive = 0.0
    position_std_m: Positive = 0.0
    point_m: Vector3 = [0.0, 0.0, 0.0]
    basis: list[Vector3] | None = Field(None, description="Two unit vectors that complete the axis.")
    covariance: list[list[Number]] | None = Field(
        None,
        description="4×4: tilt along both basis vectors (rad), then shift (m); or 6×6 of a twist [v, ω].",
    )
    measured_at: dict[str, Number] = Field(
        default_factory=dict, description="Coordinates of the ancestors while this was measured."
    )
    source: dict[str, Any] = Field(default_factory=dict, description="Session, takes, date, software version.")

    @model_validator(mode="after")
    def _shapes(self) -> "EvidenceData":
        if self.inliers > self.samples:
            raise ValueError(f"{self.inliers} inliers among {self.samples} samples")
        if self.covariance is not None:
            size = len(self.covariance)
            if size not in (4, 6) or any(len(row) != size for row in self.covariance):
                raise ValueError("the covariance is neither 4×4 nor 6×6")
            if size == 4 and (self.basis is None or len(self.basis) != 2):
                raise ValueError("a 4×4 covariance needs a basis of two vectors")
            matrix = np.array(self.covariance)
            if (np.diag(matrix) < 0.0).any():
                raise ValueError("the covariance has a negative variance")
            # Tilts and shifts have different units: everything is compared to its own standard deviations.
            std = np.sqrt(np.maximum(np.diag(matrix), 1e-30))
            correlation = matrix / np.outer(std, std)
            if np.abs(correlation - correlation.T).max() > 1e-6:
                raise ValueError("the covariance is not symmetric")
            if np.linalg.eigvalsh(correlation)[0] < -1e-6:
                raise ValueError("the covariance has a negative variance in some direction")
        for i, vector in enumerate(self.basis or ()):
            _check_length(f"basis/{i}", vector)
        return self


class NodeData(_Part):
    """A joint or a handle. Further fields belong to its type, for example ``radius_m``."""

    name: Name
    type: Annotated[str, Field(min_length=1, max_length=100)]
    parent: Name = "root"
    origin: FrameData
    child: FrameData | None = Field(None, description="Child link's frame on the moving side, if not the same.")
    limits: dict[str, Pair] = Field(
        default_factory=dict,
        description="[lower, upper] of each coordinate, `turn_rad` or `slide_m`; null: no stop.",
    )
    evidence: EvidenceData | None = None


class ModelData(_Part):
    """A kinematic tree."""

    format: Literal["ident-model"]
    version: Literal[1]
    name: Annotated[str, Field(min_length=1, max_length=1000)]
    provenance: dict[str, Any] = Field(default_factory=dict)
    joints: list[NodeData] = Field(default_factory=list)
    handles: list[NodeData] = Field(default_factory=list)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a model file."""
    schema = ModelData.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "ident model",
        "description": "A kinematic tree of joints and handles in metres and radians; z is the axis of a joint.",
    }


def _check_length(label: str, vector: list[float]) -> None:
    length = sum(v * v for v in vector) ** 0.5
    if abs(length - 1.0) > LENGTH_TOLERANCE:
        what = "is zero" if length == 0.0 else f"has the length {length:.6g}"
        raise ValueError(f"{label} {what}; it must be a unit vector")
