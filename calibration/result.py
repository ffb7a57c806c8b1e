"""How a calibration says that it cannot be made: a falsy value with a reason and the next step."""

from dataclasses import dataclass
from typing import Literal

Cause = Literal[
    "too-few",
    "too-little-rotation",
    "parallel-axes",
    "slipping-grip",
    "moved",
    "tip-moved",
    "saturated",
    "misfit",
    "imprecise",
    "collinear",
    "mismatch",
    "none-stored",
    "redefined",
    "markers-changed",
    "other-body",
    "other-device",
    "too-old",
]
"""Machine-readable cause of a refusal, for the wizard's pictures and for statistics."""


@dataclass(frozen=True, slots=True)
class CalibrationFailure:
    """Falsy: these data give no calibration. The takes stay as they are."""

    cause: Cause
    reason: str
    """What happened, with its number, and what to do next."""

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return self.reason
