"""Random numbers by address: the same seed, movement and purpose always give the same numbers."""

import numpy as np

GRIPPER, CLOCK, VOLUME, PLAN, MOCAP, WRENCH, IDLE = range(7)
"""Purposes; each has its own stream, so that drawing more for one changes no other."""


def generator(seed: int, purpose: int, *address: int) -> np.random.Generator:
    """A generator for one purpose, for example the mocap noise of movement 3."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, *address)))
