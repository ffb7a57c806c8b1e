"""OptiTrack motion capture over the NatNet protocol."""

from devices.natnet.client import NatNetClient
from devices.natnet.config import BodyHealth, NatNetConfig, NatNetHealth
from devices.natnet.discovery import FoundServer, discover
from devices.natnet.reader import Malformed

__all__ = ["BodyHealth", "FoundServer", "Malformed", "NatNetClient", "NatNetConfig", "NatNetHealth", "discover"]
