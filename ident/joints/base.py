"""Joints between two links, and the register of their types."""

from dataclasses import dataclass
from typing import Any

from ident.joints.node import Node

_types: dict[str, "type[Joint]"] = {}


@dataclass(frozen=True, kw_only=True, eq=False)
class Joint(Node):
    """A joint with at most one coordinate. A subclass with a ``kind`` registers itself."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            _types[cls.kind] = cls

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """The joint's own name, where it moves."""
        return (self.name,) if self.dof else ()

    @property
    def lower(self) -> float:
        """Lower limit in radians or metres; 0 for a joint that does not move."""
        return self.limits[0][0] if self.limits else 0.0

    @property
    def upper(self) -> float:
        """Upper limit in radians or metres; 0 for a joint that does not move."""
        return self.limits[0][1] if self.limits else 0.0


def joint_types() -> dict[str, type[Joint]]:
    """Every known joint type by its ``kind``."""
    return dict(_types)
