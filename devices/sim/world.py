"""The simulated world as one timeline of segments: movements asked for, and idling between them.

Values are planned ahead; when they are sent is the servers' business. The same seed and the same sequence of
movements give the same values, whatever the pauses between them.
"""

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from devices.sim.disturbances import Disturbances
from devices.sim.frames import Array
from devices.sim.gripper import draw_gripper
from devices.sim.hand import State, still
from devices.sim.measurement import Measured, Rates, Sensors
from devices.sim.operator import initial_state, plan_approach, plan_movement, plan_release
from devices.sim.plan import Plan
from devices.sim.randomness import IDLE, MOCAP, PLAN, WRENCH, generator
from devices.sim.scene import Scene


@dataclass(frozen=True)
class Segment:
    """A stretch of the timeline."""

    measured: Measured
    frame: int
    """Number of its first frame."""
    record: int
    """Number of its first record."""

    @property
    def end_frame(self) -> int:
        """Number after its last frame."""
        return self.frame + len(self.measured.position)

    @property
    def end_record(self) -> int:
        """Number after its last record."""
        return self.record + len(self.measured.wrench)


@dataclass
class Job:
    """A movement on its way through the timeline."""

    index: int
    stretches: list[Measured]
    recorded: slice
    """Which of the stretches belong to the movement's window."""
    info: dict[str, Any]
    after: Plan
    """Idling at the place where the movement ends."""
    first_frame: int = -1
    end_frame: int = -1
    """The window's frames, once it is scheduled."""
    scheduled: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)


class World:
    """The timeline. One thread consumes it (:meth:`extend`), any thread asks for movements.

    ``idle_s`` is the length of one stretch of idling, for whose end a movement waits.
    """

    def __init__(
        self,
        scene: Scene,
        seed: int,
        disturbances: Disturbances,
        rates: Rates,
        *,
        idle_s: float = 0.2,
        movements_before: int = 0,
        q: Mapping[str, float] | None = None,
    ) -> None:
        self.scene = scene
        self.rates = rates
        self.gripper = draw_gripper(seed, disturbances)
        self.segments: deque[Segment] = deque()
        self._seed = seed
        self._idle_frames = rates.frames_for(idle_s)
        self._disturbances = disturbances
        self._sensors = Sensors(scene, self.gripper, disturbances, rates, seed)
        start = initial_state(scene)
        self._planned = State({**start.q, **(q or {})}, start.tip2world)
        self._idle_plan = self._idling(self._planned)
        self._idle_count = 0
        self._index = movements_before
        self._waiting: deque[Job] = deque()
        self._running: deque[Job] = deque()
        self._planning = threading.Lock()

    def begin(self, movement: Mapping[str, Any]) -> Job:
        """Plan a movement and queue it; raises SceneError for one that cannot be made."""
        with self._planning:
            rng = generator(self._seed, PLAN, self._index)
            plan = plan_movement(self.scene, self._planned, movement, self._disturbances, rng)
            approach = plan_approach(self.scene, self._planned, plan)
            plans, recorded = [approach, plan], slice(1, 2)
            if movement.get("approach"):
                after = self._after(plan)
                plans, recorded = [approach, plan, plan_release(after)], slice(0, 3)
            stretches = [self._measure(p, (self._index, i)) for i, p in enumerate(plans)]
            self._planned = self._after(plans[-1])
            info = {
                **plan.info,
                "index": self._index,
                "movement": dict(movement),
                "configuration": dict(self._planned.q),
            }
            job = Job(self._index, stretches, recorded, info, self._idling(self._planned))
            self._index += 1
            self._waiting.append(job)
            return job

    def extend(self, frame: int) -> None:
        """Make sure that the timeline reaches beyond a frame number."""
        while not self.segments or self.segments[-1].end_frame <= frame:
            if self._waiting:
                self._schedule(self._waiting.popleft())
            else:
                self._append(self._idle())

    def retire(self, frame: int, record: int) -> None:
        """Forget what lies before a frame and a record that were both sent, and tell who waited for it."""
        while len(self.segments) > 1 and self.segments[0].end_frame <= frame and self.segments[0].end_record <= record:
            self.segments.popleft()
        while self._running and self._running[0].end_frame <= frame:
            self._running.popleft().done.set()

    def reference(self, pose: Array, n: int, body: int) -> tuple[Array, Array]:
        """Measured positions and quaternions of a fixed body, from its own stream of noise."""
        return self._sensors.reference(pose, n, generator(self._seed, IDLE, 1, body))

    def _schedule(self, job: Job) -> None:
        window = [self._append(stretch) for stretch in job.stretches][job.recorded]
        self._idle_plan = job.after
        job.first_frame, job.end_frame = window[0].frame, window[-1].end_frame
        self._running.append(job)
        job.scheduled.set()

    def _append(self, measured: Measured) -> Segment:
        frame = self.segments[-1].end_frame if self.segments else 0
        record = frame * self.rates.ft_hz // self.rates.mocap_hz + self.rates.first_record(0)
        segment = Segment(measured, frame, record)
        self.segments.append(segment)
        return segment

    def _idle(self) -> Measured:
        self._idle_count += 1
        rng = generator(self._seed, IDLE, 0, self._idle_count)
        return self._sensors.measure(self._idle_plan, self._idle_frames, rng, rng)

    def _measure(self, plan: Plan, address: tuple[int, int]) -> Measured:
        n = self.rates.frames_for(plan.duration)
        mocap, wrench = (generator(self._seed, purpose, *address) for purpose in (MOCAP, WRENCH))
        return self._sensors.measure(plan, n, mocap, wrench)

    def _after(self, plan: Plan) -> State:
        q = {**self._planned.q, **plan.final()}
        return State(q, plan.tip2world(self.scene, np.array([plan.duration]))[0])

    def _idling(self, state: State) -> Plan:
        return still("root", state.tip2world, state.q, 3)
