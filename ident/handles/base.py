"""Handles: how a gripper may sit on a part. The handle's frame is a gripper frame; z is the handle's axis."""

from dataclasses import dataclass
from typing import Any

from ident.joints.node import Node

_types: dict[str, "type[Handle]"] = {}


@dataclass(frozen=True, kw_only=True, eq=False)
class Handle(Node):
    """The relation between a gripper and a grip. A subclass with a ``kind`` registers itself."""

    radius_m: float = 0.0
    """Radius of the grip, as the operator gave it; 0 where unknown."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__:
            _types[cls.kind] = cls

    def problems(self) -> list[str]:
        """List what is wrong with this handle alone."""
        found = super().problems()
        if not 0.0 <= self.radius_m < float("inf"):
            found.append(f"radius_m is {self.radius_m:g}, a radius is 0 m or more")
        return found


def handle_types() -> dict[str, type[Handle]]:
    """Every known handle type by its ``kind``."""
    return dict(_types)
