"""OptiTrack motion capture over the NatNet protocol."""

from importlib import import_module
from typing import TYPE_CHECKING

from devices.natnet.config import BodyHealth, NatNetConfig, NatNetHealth
from devices.natnet.reader import Malformed

if TYPE_CHECKING:
    from devices.natnet.client import NatNetClient
    from devices.natnet.discovery import FoundServer, discover
else:
    _NETWORK = {"NatNetClient": "client", "FoundServer": "discovery", "discover": "discovery"}

    def __getattr__(name: str) -> object:
        """What needs the network is imported where it is used: recorded datagrams are decoded without."""
        if name not in _NETWORK:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_NETWORK[name]}"), name)


__all__ = ["BodyHealth", "FoundServer", "Malformed", "NatNetClient", "NatNetConfig", "NatNetHealth", "discover"]
