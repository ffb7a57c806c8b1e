"""How the numbers of a joint or handle were found, and how far they can be trusted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fitting.motion import Take
from fitting.se3 import Array, skew

if TYPE_CHECKING:
    from fitting.uncertainty import Response


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Quality of one fit, in the frame of the parent link; SI units and radians."""

    method: str
    """Name of the estimator, for example ``fit_rotary``."""
    samples: int
    """Of the movement: pauses at the ends of a take say nothing, and are not counted as thrown away."""
    inliers: int
    rms: float
    """Root mean square distance of the inliers from the fit, metres."""
    noise: float
    """Standard deviation of a measured position that the fit used or found, metres."""
    axis_std: float = 0.0
    """Root of the trace of the tilt covariance, radians."""
    position_std: float = 0.0
    """Root of the trace of the shift covariance, perpendicular to the axis at ``point``, metres."""
    point: Array = field(default_factory=lambda: np.zeros(3))
    """Where the shift covariance is stated, metres."""
    basis: Array | None = None
    """(2, 3): unit vectors that complete the axis."""
    covariance: Array | None = None
    """(4, 4): tilt along ``basis[0]`` and ``basis[1]``, then shift along them; or, for a whole frame, (6, 6)
    of its twist ``[v, ω]`` at ``point``."""
    grip: str = ""
    """``rigid``, ``partly`` or ``loose``, where the fit can tell."""
    takes: int = 1
    responses: "tuple[Response, ...]" = field(default=(), repr=False, compare=False)
    """Of a fresh fit, what unseen errors do to it; not kept in model files."""
    fit: Any = field(default=None, repr=False, compare=False)
    """Of a fresh fit, the result of ``fitting`` itself; not kept in model files."""
    measured_at: Mapping[str, float] = field(default_factory=dict)
    """Coordinates of the ancestors while this was measured. Where known, an ancestor's error does not move
    this frame at that configuration, because it was measured there directly."""
    source: Mapping[str, Any] = field(default_factory=dict)
    """Provenance: session, take names, date, software version."""

    @classmethod
    def from_fit(cls, fit: Any, *, method: str, takes: Sequence[Array], still: bool = False) -> "Evidence":
        """Keep what a result of ``fitting`` says about itself, and about its takes; ``still`` where none moves."""
        inliers = np.asarray(fit.inliers, dtype=bool)
        counted = np.ones_like(inliers) if still else np.concatenate([Take.of(take).moving for take in takes]) | inliers
        covariance = getattr(fit, "covariance", None)
        basis = getattr(fit, "basis", None)
        point = getattr(fit, "point", None)
        return cls(
            method=method,
            samples=int(counted.sum()),
            inliers=int(inliers.sum()),
            rms=float(fit.rms),
            noise=float(fit.noise),
            axis_std=float(getattr(fit, "axis_std", 0.0)),
            position_std=float(getattr(fit, "position_std", 0.0)),
            point=np.zeros(3) if point is None else np.array(point, dtype=float),
            basis=None if basis is None else np.array(basis, dtype=float),
            covariance=None if covariance is None else np.array(covariance, dtype=float),
            grip=str(getattr(fit, "grip", "")),
            takes=len(takes),
            responses=getattr(fit, "responses", ()),
            fit=fit,
        )

    def twist_covariance(self, at: Array) -> Array:
        """Covariance (6, 6) of the frame's error twist ``[v, ω]`` at the point ``at`` (m), in parent axes."""
        if self.covariance is None:
            return np.zeros((6, 6))
        if self.covariance.shape == (6, 6):
            to_twist = np.eye(6)
        else:
            b0, b1 = np.zeros((2, 3)) if self.basis is None else self.basis
            axis = np.cross(b0, b1)
            to_twist = np.zeros((6, 4))
            # A tilt moves the axis towards b; the rotation that does so is about axis × b.
            to_twist[3:, 0], to_twist[3:, 1] = np.cross(axis, b0), np.cross(axis, b1)
            to_twist[:3, 2], to_twist[:3, 3] = b0, b1
        carry = np.eye(6)
        carry[:3, 3:] = -skew(np.asarray(at) - self.point)
        to_twist = carry @ to_twist
        return np.asarray(to_twist @ self.covariance @ to_twist.T)
