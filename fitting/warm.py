"""Compile, or load from the cache, everything that a fit needs, before an operator waits for it."""

import numpy as np


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
