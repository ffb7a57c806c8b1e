"""Columns of the local parameters of a motion, readable without loading numba.

Tilt of the axis (2), its shift (2), pitch, turn of the start (3), move of the start (3); vectors in the frame
(basis[0], basis[1], axis).
"""

TILT, SHIFT, PITCH, TURN, PLACE = 0, 2, 4, 5, 8
SIZE = 11
