"""From frames to pose samples: names, times, validity, accounting of frame numbers. No sockets, no threads."""

from collections import deque
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from devices.buffer import PoseBuffer
from devices.clock import EchoSync, SequenceClock
from devices.natnet.config import BodyHealth
from devices.natnet.descriptions import ModelDef, RigidBodyDescription
from devices.natnet.messages import Frame, RigidBody
from devices.natnet.types import Vector
from devices.ring import Bools, Floats, Ints
from devices.samples import PoseSample, PoseState

MOST_BODIES = 200
"""Bodies that are recorded without being chosen by name."""
_REMEMBERED = 4096
"""Missing frame numbers that may still come late."""
_LONGEST_GAP = 100_000
"""Frames; a longer jump is another count, not a loss."""
_EARLIEST_NS = -100_000_000
_LATEST_NS = 60_000_000_000
"""An exposure that lies outside these bounds before its receipt cannot be right."""


class FrameCounter:
    """Accounts for frame numbers: lost, late, repeated, begun anew."""

    def __init__(self) -> None:
        self.lost = 0
        self.duplicates = 0
        self.out_of_order = 0
        self.restarts = 0
        self._highest: int | None = None
        self._moment = 0.0
        self._missing: dict[int, None] = {}

    def begin(self) -> None:
        """Expect any number next: the server is a new one."""
        self._highest = None
        self._missing.clear()

    def take(self, number: int, moment: float) -> bool:
        """Account for a frame and return whether it is new; the moment is by the server's clock, or 0."""
        highest = self._highest
        if highest is None or number == highest + 1:
            pass
        elif highest < number <= highest + _LONGEST_GAP:
            self._miss(highest + 1, number)
        elif number in self._missing:
            del self._missing[number]
            self.lost -= 1
            self.out_of_order += 1
            return True
        elif number > highest or moment > self._moment:
            self.restarts += 1
            self._missing.clear()
        else:
            self.duplicates += 1
            return False
        self._highest = number
        self._moment = moment
        return True

    def follows(self, numbers: Ints) -> Bools:
        """Whether each of some numbers (n,) is one more than that before it; nothing is accounted for yet."""
        if self._highest is None:
            return np.zeros(len(numbers), dtype=bool)
        return np.equal(numbers, self._highest + 1 + np.arange(len(numbers)))

    def follow(self, number: int, moment: float) -> None:
        """Account for all frames up to a number; none of them is missing."""
        self._highest, self._moment = number, moment

    def _miss(self, start: int, stop: int) -> None:
        self.lost += stop - start
        self._missing.update(dict.fromkeys(range(max(start, stop - _REMEMBERED), stop)))
        if len(self._missing) > _REMEMBERED:
            self._missing = dict.fromkeys(list(self._missing)[-_REMEMBERED:])


class _Body:
    """One recorded body: its buffer, its last values, its counts."""

    def __init__(self, name: str, capacity: int, *, reserved: bool) -> None:
        self.buffer = PoseBuffer(name, capacity, reserved=reserved)
        self.last: tuple[tuple[float, ...], tuple[float, ...]] | None = None
        self.counts = [0] * len(PoseState)

    def state(self, pose: RigidBody, max_mean_error: float) -> PoseState:
        """Judge a pose: whether it is a measurement, and if not, why."""
        values = (pose.position, pose.quaternion)
        repeated = values == self.last
        self.last = values
        x, y, z, w = pose.quaternion
        norm = x * x + y * y + z * z + w * w
        px, py, pz = pose.position
        # Written so that NaN and infinity fail too.
        sane = 0.98 < norm < 1.02 and -1e4 < px < 1e4 and -1e4 < py < 1e4 and -1e4 < pz < 1e4
        if not (pose.params & 1 and sane):
            return PoseState.UNTRACKED
        if repeated:
            return PoseState.FROZEN
        return PoseState.MEASURED if pose.mean_error <= max_mean_error else PoseState.INACCURATE

    def states(self, values: Floats, params: NDArray[np.int16], max_mean_error: float) -> Ints:
        """Judge poses, each as :meth:`state` does after those before it.

        ``values`` (n, 8) are positions, quaternions and mean errors, ``params`` (n,) the flags.
        """
        poses = values[:, :7]
        before = (np.nan,) * 7 if self.last is None else (*self.last[0], *self.last[1])
        repeated = (poses == np.vstack((before, poses[:-1]))).all(axis=1)
        self.last = tuple(poses[-1, :3].tolist()), tuple(poses[-1, 3:].tolist())
        x, y, z, w = poses[:, 3:].T
        norm = x * x + y * y + z * z + w * w
        sane = (norm > 0.98) & (norm < 1.02) & (np.abs(poses[:, :3]) < 1e4).all(axis=1)
        states = np.where(values[:, 7] <= max_mean_error, PoseState.MEASURED, PoseState.INACCURATE)
        states[repeated] = PoseState.FROZEN
        states[~sane | (params & 1 == 0)] = PoseState.UNTRACKED
        return states


class PoseStream:
    """Turns the frames of one server into samples in buffers."""

    def __init__(
        self,
        bodies: tuple[str, ...],
        capacity: int,
        max_mean_error_m: float,
        speed: float = 1.0,
        *,
        reserved: bool = True,
    ) -> None:
        self._speed = speed
        self.counter = FrameCounter()
        self.sync: EchoSync | None = None
        self.frames = 0
        self.unnamed = 0
        self.unstamped = 0
        """Frames without a usable exposure time, although the clock is known."""
        self.streaming: tuple[str, ...] = ()
        """Names of all rigid bodies that the server streams."""
        self.markers: dict[str, tuple[Vector, ...]] = {}
        """Markers of each body in its own frame, metres, where the server describes them."""
        self.models_known = False
        self.crowded = False
        """More bodies are streamed than can be recorded without choosing."""
        self.time_source: Literal["", "exposure", "receipt"] = ""
        self._chosen = bodies
        self._capacity = capacity
        self._max_mean_error = max_mean_error_m
        self._names: dict[int, str] = {}
        self._reserved = reserved
        self._bodies = {name: _Body(name, capacity, reserved=reserved) for name in bodies}
        self.buffers = {name: body.buffer for name, body in self._bodies.items()}
        self._envelope = SequenceClock(speed=speed)
        self._latency_ns: deque[int] = deque(maxlen=512)

    def begin(self, sync: EchoSync | None) -> None:
        """Expect a new server, or the old one after a pause, with its own clock."""
        self.sync = sync
        self.counter.begin()
        self._envelope = SequenceClock(speed=self._speed)
        self.models_known = False

    def name(self, models: ModelDef) -> bool:
        """Take in the model definitions; return whether the streamed names have changed."""
        described = [d for d in models.descriptions if isinstance(d, RigidBodyDescription)]
        before = self.streaming
        self.streaming = tuple(d.name for d in described)
        self._names = {d.id: d.name for d in described}
        self.markers = {d.name: tuple(m.position for m in d.markers) for d in described}
        self.models_known = True
        if not self._chosen:
            new = [name for name in dict.fromkeys(self.streaming) if name not in self._bodies]
            room = MOST_BODIES - len(self._bodies)
            self.crowded = len(new) > room
            found = {name: _Body(name, self._capacity, reserved=self._reserved) for name in new[:room]}
            self._bodies.update(found)
            self.buffers = {name: body.buffer for name, body in self._bodies.items()}
        return before != self.streaming

    def missing(self) -> tuple[str, ...]:
        """Return the chosen bodies that the server does not stream."""
        return tuple(name for name in self._chosen if name not in self.streaming)

    def waiting(self) -> tuple[str, ...]:
        """Return the bodies that are to be recorded but have not come yet."""
        names = self._chosen or self.streaming
        return tuple(name for name in names if name in self._bodies and not self._bodies[name].buffer.total)

    def take(self, frame: Frame, received_ns: int) -> Sequence[PoseSample]:
        """Account for a frame and return its samples, already in their buffers; none if it is a duplicate."""
        if not self.counter.take(frame.number, frame.mid_exposure_ticks or frame.timestamp):
            return ()
        self.frames += 1
        t_ns, ticks = self._time(frame, received_ns)
        self._latency_ns.append(received_ns - t_ns)
        samples = []
        for pose in {pose.id: pose for pose in frame.rigid_bodies}.values():
            body = self._bodies.get(self._names.get(pose.id, ""))
            if body is None:
                self.unnamed += pose.id not in self._names
                continue
            state = body.state(pose, self._max_mean_error)
            body.counts[state] += 1
            sample = PoseSample(
                t_ns, body.buffer.body, frame.number, pose.position, pose.quaternion, pose.mean_error, state,
                received_ns, ticks,
            )  # fmt: skip
            body.buffer.append(sample)
            samples.append(sample)
        return samples

    def take_run(self, frames: NDArray[np.void], received_ns: Ints) -> int:
        """Take in frames, from the first on, as long as nothing about them is unusual; return how many they are.

        Counts and buffers are then as after :meth:`take` of each. Usual are frames that follow each other, with the
        same known bodies and a good exposure time. They are those of ``FrameDecoder.decode_frames``.
        """
        ids = frames["bodies"]["id"]
        names = [self._names.get(i) for i in ids[0].tolist()]
        if self.sync is None or not self.sync.ready or None in names or len(set(names)) < len(names):
            return 0
        numbers, ticks = frames["number"].astype(np.int64), frames["exposure"].astype(np.int64)
        t_ns = self.sync.to_host_all(ticks)
        late_ns = received_ns - t_ns
        usual = self.counter.follows(numbers) & (ids == ids[0]).all(axis=1)
        usual &= (ticks > 0) & (late_ns > _EARLIEST_NS) & (late_ns < _LATEST_NS)
        n = int(np.append(usual, False).argmin())
        if n:
            self.frames += n
            self.counter.follow(int(numbers[n - 1]), int(ticks[n - 1]))
            self._envelope.stamp(numbers[:n] & 0xFFFFFFFF, received_ns[:n])
            self.time_source = "exposure"
            self._latency_ns.extend(late_ns[:n].tolist())
            for name, poses in zip(names, frames["bodies"][:n].T, strict=True):
                if name in self._bodies:
                    self._extend(self._bodies[name], poses, t_ns[:n], numbers[:n], received_ns[:n], ticks[:n])
        return n

    def _extend(
        self, body: _Body, poses: NDArray[np.void], t_ns: Ints, numbers: Ints, received_ns: Ints, ticks: Ints
    ) -> None:
        with np.errstate(invalid="ignore"):
            values = np.column_stack((poses["position"], poses["quaternion"], poses["mean_error"])).astype(np.float64)
        states = body.states(values, poses["params"], self._max_mean_error)
        for state, n in enumerate(np.bincount(states, minlength=len(body.counts)).tolist()):
            body.counts[state] += n
        body.buffer.extend(np.column_stack((t_ns, numbers, states, received_ns, ticks)), values)

    def _time(self, frame: Frame, received_ns: int) -> tuple[int, int]:
        """Return host time and ticks of the exposure; without ticks, time by the envelope of receipts."""
        envelope_ns = self._envelope.add(frame.number & 0xFFFFFFFF, received_ns)
        if self.sync is not None and self.sync.ready:
            if frame.mid_exposure_ticks:
                t_ns = self.sync.to_host(frame.mid_exposure_ticks)
                if _EARLIEST_NS < received_ns - t_ns < _LATEST_NS:
                    self.time_source = "exposure"
                    return t_ns, frame.mid_exposure_ticks
            self.unstamped += 1
        self.time_source = "receipt"
        return envelope_ns, 0

    def latency_ms(self) -> tuple[float, float]:
        """Return median and largest time from exposure to receipt of the last few hundred frames."""
        if not self._latency_ns:
            return float("nan"), float("nan")
        latency = np.array(self._latency_ns) / 1e6
        return float(np.median(latency)), float(latency.max())

    def rate(self, now_ns: int) -> float:
        """Return frames per second of host time: that of the body that comes most often."""
        return max((body.buffer.rate(now_ns) for body in self._bodies.values()), default=0.0)

    def health(self, now_ns: int) -> dict[str, BodyHealth]:
        """Return how each recorded body is doing."""
        return {name: BodyHealth(body.buffer.rate(now_ns), *body.counts) for name, body in self._bodies.items()}
