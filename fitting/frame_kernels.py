"""Inner loops that check poses."""

from fitting.compiled import compiled
from fitting.se3 import Array


@compiled
def no_frame(poses: Array, tolerance: float, bottom: float) -> tuple[int, float]:
    """First of the poses (n, 4, 4) that is no rigid frame, or −1, and how far its RᵀR is from the identity.

    tolerance: how far that may be; bottom: how far the last row may be from 0 0 0 1.
    """
    for i in range(poses.shape[0]):
        pose, defect, off = poses[i], 0.0, abs(poses[i, 3, 3] - 1.0)
        for c in range(3):
            off = max(off, abs(pose[3, c]))
            for d in range(c + 1):
                dot = pose[0, c] * pose[0, d] + pose[1, c] * pose[1, d] + pose[2, c] * pose[2, d]
                defect = max(defect, abs(dot - (1.0 if c == d else 0.0)))
        determinant = pose[0, 0] * (pose[1, 1] * pose[2, 2] - pose[1, 2] * pose[2, 1])
        determinant -= pose[0, 1] * (pose[1, 0] * pose[2, 2] - pose[1, 2] * pose[2, 0])
        determinant += pose[0, 2] * (pose[1, 0] * pose[2, 1] - pose[1, 1] * pose[2, 0])
        if defect > tolerance or off > bottom or determinant < 0.0:
            return i, defect
    return -1, 0.0
