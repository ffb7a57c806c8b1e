"""OptiTrack motion capture over the NatNet protocol."""

from devices.natnet.client import NatNetClient
from devices.natnet.config import BodyHealth, NatNetConfig, NatNetHealth
from devices.natnet.reader import Malformed

__all__ = ["BodyHealth", "Malformed", "NatNetClient", "NatNetConfig", "NatNetHealth"]
