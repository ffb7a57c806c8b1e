"""How hands move in time: smooth sweeps of uneven speed, tremor, slow play, bumps. Pure functions of a generator."""

import numpy as np
from numpy.random import Generator

from devices.sim.frames import Array


def minimum_jerk(s: Array) -> Array:
    """Progress 0 … 1 of a minimum-jerk movement at the share ``s`` of its time (Flash and Hogan 1985)."""
    c = np.clip(s, 0.0, 1.0)
    return np.asarray(c**3 * (10.0 - 15.0 * c + 6.0 * c**2))


def sweep(rng: Generator, n: int, unevenness: float, pause_chance: float) -> Array:
    """Progress 0 … 1 in ``n`` samples: minimum jerk over an unevenly running time, perhaps with one hesitation."""
    tau = np.linspace(0.0, 1.0, n)
    rate = np.exp(unevenness * _sinusoids(rng, tau, 0.5, 3.0, 3))
    if rng.random() < pause_chance:
        middle, width = rng.uniform(0.25, 0.75), rng.uniform(0.06, 0.11)
        rate *= 1.0 - 0.97 * np.exp(-0.5 * ((tau - middle) / width) ** 2)
    warped = np.concatenate([[0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]))])
    return minimum_jerk(warped / warped[-1])


def path(
    rng: Generator, targets: list[float], seconds: list[float], hz: float, unevenness: float, pause: float
) -> Array:
    """A coordinate that goes from target to target; ``seconds[i]`` leads to ``targets[i + 1]``."""
    parts = [np.array([targets[0]])]
    for start, stop, duration in zip(targets, targets[1:], seconds, strict=False):
        n = max(2, round(duration * hz))
        if start == stop:
            parts.append(np.full(n, stop))
        else:
            parts.append(start + (stop - start) * sweep(rng, n + 1, unevenness, pause)[1:])
    return np.concatenate(parts)


def tremor(rng: Generator, t: Array, columns: int = 3, low: float = 6.0, high: float = 12.0) -> Array:
    """Band-limited noise (n, columns) of unit standard deviation that swells and fades."""
    swell = 0.75 + 0.35 * _sinusoids(rng, t, 0.2, 0.9, 3)
    return np.stack([swell * _sinusoids(rng, t, low, high, 10) for _ in range(columns)], axis=-1)


def sway(rng: Generator, t: Array, columns: int = 3) -> Array:
    """Slow wandering (n, columns) of unit standard deviation, 0.1–0.8 Hz."""
    return np.stack([_sinusoids(rng, t, 0.1, 0.8, 5) for _ in range(columns)], axis=-1)


def bump(t: Array, start: float, stop: float, ramp: float) -> Array:
    """Rises smoothly from 0 to 1 after ``start`` and falls before ``stop``, each within ``ramp`` seconds."""
    ramp = min(ramp, 0.5 * (stop - start))
    return minimum_jerk((t - start) / ramp) * minimum_jerk((stop - t) / ramp)


def step(t: Array, start: float, stop: float) -> Array:
    """Goes smoothly from 0 to 1 between two times, and stays."""
    return minimum_jerk((t - start) / (stop - start))


def bursts(rng: Generator, t: Array, count: int, share: float, ramp: float = 0.25) -> Array:
    """``count`` bumps of random size 0.5 … 1 that cover ``share`` of the inner time, one in each of ``count`` parts."""
    begin, end = t[0] + 0.08 * (t[-1] - t[0]), t[-1] - 0.08 * (t[-1] - t[0])
    part = (end - begin) / count
    result = np.zeros_like(t)
    for i in range(count):
        length = part * min(0.95, share * rng.uniform(0.8, 1.2))
        start = begin + i * part + rng.uniform(0.0, part - length)
        result += rng.uniform(0.5, 1.0) * bump(t, start, start + length, ramp)
    return result


def _sinusoids(rng: Generator, t: Array, low: float, high: float, count: int) -> Array:
    frequencies = rng.uniform(low, high, count)
    phases = rng.uniform(0.0, 2.0 * np.pi, count)
    weights = rng.uniform(0.5, 1.0, count)
    weights *= np.sqrt(2.0) / np.linalg.norm(weights)
    result = np.zeros_like(t)
    for f, phase, weight in zip(frequencies, phases, weights, strict=True):
        result += weight * np.cos(2.0 * np.pi * f * t + phase)
    return result
