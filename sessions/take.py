"""A take's place in the session."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from sessions.errors import SessionError


@dataclass(frozen=True, slots=True)
class Take:
    """One recorded movement: a name, and a window of host time into the streams."""

    number: int
    """Counts from 1 within the session, calibration takes included."""
    name: str
    """What was moved: a joint, a handle, or a calibration step."""
    kind: str
    """For example ``joint``, ``handle``, ``tip``, ``weight``."""
    t0_ns: int
    t1_ns: int
    """Host time; a sample belongs to the take when ``t0_ns <= t <= t1_ns``."""
    info: Mapping[str, Any] = field(default_factory=dict)
    """Anything else worth keeping, as JSON."""

    @property
    def duration_s(self) -> float:
        """Length of the window in seconds."""
        return (self.t1_ns - self.t0_ns) / 1e9

    def to_json(self) -> dict[str, Any]:
        """The inverse of :meth:`from_json`."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Check and build; raises ``SessionError`` naming what is missing or of the wrong kind."""
        try:
            return cls(
                int(data["number"]),
                str(data["name"]),
                str(data["kind"]),
                int(data["t0_ns"]),
                int(data["t1_ns"]),
                dict(data.get("info", {})),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise SessionError(f"A take is recorded in a way that cannot be read: {error!r}.") from error
