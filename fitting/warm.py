"""Compile, or load from the cache, everything that a fit needs, before an operator waits for it."""

from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import numpy as np

_FOLDER = Path(__file__).parent
_STAMP = _FOLDER / "__pycache__" / "warm.stamp"


def is_warm() -> bool:
    """Whether machine code of all this is kept for a machine like this: nothing has to be compiled."""
    try:
        return _STAMP.read_text(encoding="ascii") == _stamp()
    except OSError:
        return False


def _stamp() -> str:
    """Of all that the machine code is made from and for."""
    from fitting.machine_code import machine

    sources = [(file.name, sha256(file.read_bytes()).hexdigest()) for file in sorted(_FOLDER.glob("*.py"))]
    return sha256(repr((sources, machine())).encode()).hexdigest()


def warm_up() -> None:
    """Run each compiled loop once.

    Takes about a minute after a fresh install and a tenth of a second from kept machine code. It may be called at
    install time or in a background thread: fits that are asked for meanwhile are right, they only wait for the same
    compilation.
    """
    from fitting.circle import fit_circle
    from fitting.cylinder import fit_cylindrical
    from fitting.line import fit_line
    from fitting.pivot import fit_pivot
    from fitting.rotary import fit_rotary
    from fitting.selection import select
    from fitting.synthetic import joint_poses

    scene = joint_poses(0, turn=1.0, slide=0.0, radius=0.3, n=200)
    fit_line(scene.points)
    fit_circle(np.ascontiguousarray(scene.points))
    fit_rotary(scene.poses)
    fit_cylindrical(scene.poses)
    fit_pivot(scene.poses)
    select(scene.poses)
    if not is_warm():
        # Where nothing can be written, numba keeps its own elsewhere, and this is asked again.
        with suppress(OSError):
            _STAMP.parent.mkdir(exist_ok=True)
            _STAMP.write_text(_stamp(), encoding="ascii")
