"""Frames to samples: accounting of numbers, validity of poses, times, names."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devices.clock import EchoSync
from devices.natnet.descriptions import MarkerSetDescription, ModelDef, RigidBodyDescription
from devices.natnet.messages import Frame, RigidBody
from devices.natnet.stream import FrameCounter, PoseStream
from devices.samples import PoseState

UPRIGHT = (0.0, 0.0, 0.0, 1.0)
T_NS = 1_700_000_000_000_000_000
MODELS = ModelDef(
    (MarkerSetDescription("all", ()), RigidBodyDescription("gripper", 3), RigidBodyDescription("door", 4))
)


def stream(*bodies: str, max_mean_error_m: float = 0.002) -> PoseStream:
    made = PoseStream(bodies, 1000, max_mean_error_m)
    made.name(MODELS)
    return made


def frame(number: int, *bodies: RigidBody, ticks: int = 0) -> Frame:
    return Frame(number, rigid_bodies=bodies, timestamp=number * 0.01, mid_exposure_ticks=ticks)


def body(x: float, number: int = 3, error: float = 0.0004, params: int = 1) -> RigidBody:
    return RigidBody(number, (x, 0.0, 0.0), UPRIGHT, error, params)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 400), st.floats(0.0, 0.3), st.floats(0.0, 0.2))
def test_losses_repeats_and_late_frames_are_counted_exactly(seed: int, n: int, loss: float, repeat: float) -> None:
    rng = random.Random(seed)
    sent = [i for i in range(n) if i in (0, n - 1) or rng.random() > loss]
    order = sorted(sent, key=lambda i: i + rng.uniform(0, 6) * (0 < i < n - 1))
    arrivals = [i for i in order for _ in range(1 + (rng.random() < repeat))]
    counter = FrameCounter()
    new = [counter.take(5000 + i, 100.0 + i) for i in arrivals]
    assert sum(new) == len(sent)
    assert counter.lost == n - len(sent)
    assert counter.duplicates == len(arrivals) - len(sent)
    highest, late = -1, 0
    for i in order:
        late += i < highest
        highest = max(highest, i)
    assert counter.out_of_order == late
    assert counter.restarts == 0


def test_a_count_that_begins_anew_is_neither_loss_nor_repeat() -> None:
    counter = FrameCounter()
    for i in range(10):
        assert counter.take(5000 + i, 100.0 + i)
    for i in range(10):
        assert counter.take(i, 200.0 + i)
    assert counter.take(10**9, 300.0)
    assert (counter.lost, counter.duplicates, counter.restarts) == (0, 0, 2)


def test_a_flipped_bit_in_a_frame_number_does_no_lasting_harm() -> None:
    counter = FrameCounter()
    for i in range(10):
        counter.take(i, 100.0 + i)
    counter.take(10 | 1 << 30, 110.0)
    for i in range(11, 20):
        assert counter.take(i, 100.0 + i)
    assert counter.lost == 0


def test_memory_of_missing_frames_is_bounded() -> None:
    counter = FrameCounter()
    for i in range(0, 10**7, 50_000):
        counter.take(i, float(i + 1))
    assert counter.lost == 199 * 49_999
    assert len(counter._missing) <= 4096


def test_only_new_tracked_accurate_poses_are_measurements() -> None:
    poses = stream("gripper")
    seen = [
        poses.take(frame(i, pose), T_NS + i)[0].state
        for i, pose in enumerate(
            [
                body(0.1),
                body(0.1),
                body(0.2),
                body(0.3, params=0),
                body(0.4, error=0.003),
                body(0.5, error=float("nan")),
                body(float("nan")),
                RigidBody(3, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
                RigidBody(3, (0.6, 0.0, 0.0), (0.0, 0.0, 0.0, float("inf"))),
                body(1e30),
                body(0.7),
            ]
        )
    ]
    measured, untracked, inaccurate = PoseState.MEASURED, PoseState.UNTRACKED, PoseState.INACCURATE
    assert seen == [
        measured, PoseState.FROZEN, measured, untracked, inaccurate, inaccurate, untracked, untracked, untracked,
        untracked, measured,
    ]  # fmt: skip
    health = poses.health(T_NS)["gripper"]
    assert (health.measured, health.untracked, health.frozen, health.inaccurate) == (3, 5, 1, 2)


def test_chosen_bodies_are_recorded_by_name_and_others_are_not() -> None:
    poses = stream("door")
    samples = poses.take(frame(1, body(0.1, 3), body(0.2, 4), body(0.3, 99)), T_NS)
    assert [s.body for s in samples] == ["door"]
    assert (poses.unnamed, poses.streaming, poses.missing()) == (1, ("gripper", "door"), ())
    assert list(poses.buffers) == ["door"]


def test_without_a_choice_all_bodies_are_recorded() -> None:
    poses = stream()
    poses.take(frame(1, body(0.1, 3), body(0.2, 4)), T_NS)
    assert {name: len(buffer) for name, buffer in poses.buffers.items()} == {"gripper": 1, "door": 1}


def test_without_a_choice_the_number_of_bodies_is_bounded() -> None:
    poses = stream()
    poses.name(ModelDef(tuple(RigidBodyDescription(f"body {i}", i) for i in range(1000))))
    assert poses.crowded
    assert len(poses.buffers) == 200


def test_a_body_counts_once_in_a_frame() -> None:
    assert len(stream().take(frame(1, *[body(0.1 * i, 3) for i in range(50)]), T_NS)) == 1


def test_names_follow_new_definitions() -> None:
    poses = stream("gripper", "lamp")
    assert poses.missing() == ("lamp",)
    assert not poses.name(MODELS)
    assert poses.name(ModelDef((RigidBodyDescription("lamp", 3), RigidBodyDescription("gripper", 8))))
    assert [s.body for s in poses.take(frame(1, body(0.1, 3)), T_NS)] == ["lamp"]
    assert poses.waiting() == ("gripper",)


def test_exposure_times_come_from_ticks_and_fall_back_to_receipt() -> None:
    poses = stream("gripper")
    sync = EchoSync(1_000_000)
    poses.begin(sync)
    poses.name(MODELS)
    sync.add(T_NS, 500_000_000, T_NS)
    (sample,) = poses.take(frame(1, body(0.1), ticks=500_001_000), T_NS + 7_000_000)
    assert (sample.t_ns, sample.ticks, poses.time_source) == (T_NS + 1_000_000, 500_001_000, "exposure")
    assert poses.latency_ms() == pytest.approx((6.0, 6.0))
    for number, ticks in ((2, 0), (3, 2**64 - 1), (4, 1)):
        (sample,) = poses.take(frame(number, body(0.1 * number), ticks=ticks), T_NS + 10_000_000 * number)
        assert (sample.t_ns, sample.ticks) == (T_NS + 10_000_000 * number, 0)
    assert (poses.time_source, poses.unstamped) == ("receipt", 3)


def test_a_repeated_frame_gives_no_samples() -> None:
    poses = stream("gripper")
    assert len(poses.take(frame(1, body(0.1)), T_NS)) == 1
    assert poses.take(frame(1, body(0.1)), T_NS + 1) == ()
    assert (poses.frames, poses.counter.duplicates) == (1, 1)
