"""Small shared types of the NatNet messages, and the versions that we know."""

Version = tuple[int, int]
"""Major and minor NatNet version, for example ``(3, 0)``."""
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
"""x, y, z, w."""
FourBytes = tuple[int, int, int, int]

OLDEST: Version = (2, 5)
NEWEST: Version = (4, 2)
