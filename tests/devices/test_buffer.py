"""Rings of poses and wrenches: windows, gaps, interpolation, staleness, threads."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from devices.buffer import PoseBuffer, WrenchBuffer
from devices.errors import DeviceError, Stale
from devices.samples import PoseSample, PoseState, WrenchSample

MS = 1_000_000
SECOND = 1000 * MS


def pose(number: int, t_ns: int | None = None, state: PoseState = PoseState.MEASURED) -> PoseSample:
    t_ns = number * 10 * MS if t_ns is None else t_ns
    turn = tuple(Rotation.from_rotvec([0.0, 0.0, 0.01 * number]).as_quat().tolist())
    return PoseSample(t_ns, "gripper", number, (0.1 * number, 2.0, 3.0), turn, 0.0004, state, t_ns + 5 * MS, number)


def wrench(number: int, t_ns: int, *, valid: bool = True) -> WrenchSample:
    return WrenchSample(t_ns, number, (1.0 * number, 2.0, 3.0), (4.0, 5.0, 6.0), 0, valid, t_ns + MS)


def filled(numbers: list[int], capacity: int = 1000) -> PoseBuffer:
    buffer = PoseBuffer("gripper", capacity)
    for number in numbers:
        buffer.append(pose(number))
    return buffer


def test_a_window_has_the_samples_between_its_ends_inclusive() -> None:
    window = filled(list(range(100))).window(200 * MS, 400 * MS)
    assert window.sequence.tolist() == list(range(20, 41))
    assert window.positions[0] == pytest.approx([2.0, 2.0, 3.0])
    assert (len(window), window.body, window.gaps) == (21, "gripper", ())
    assert np.all(window.received_ns == window.t_ns + 5 * MS)


def test_the_first_samples_of_a_window_are_those_that_came_first() -> None:
    buffer = PoseBuffer("gripper", 10)
    for number, t_ns, received_ns in ((1, 10, 15), (2, 30, 35), (3, 20, 40), (4, 40, 45)):
        buffer.append(replace(pose(number, t_ns), received_ns=received_ns))
    window = buffer.window(0, 50)
    assert window.sequence.tolist() == [1, 3, 2, 4]
    assert window.first(2).sequence.tolist() == [1, 2]
    assert window.first(3).t_ns.tolist() == [10, 20, 30]
    assert window.first(9) is window


def test_poses_are_frames() -> None:
    frames = filled([0, 50]).window(0, SECOND).poses()
    assert frames.shape == (2, 4, 4)
    assert frames[1, :3, :3] == pytest.approx(Rotation.from_rotvec([0.0, 0.0, 0.5]).as_matrix())
    assert frames[1, :, 3] == pytest.approx([5.0, 2.0, 3.0, 1.0])


def test_a_pose_without_rotation_gives_no_frame() -> None:
    buffer = PoseBuffer("gripper", 10)
    for quaternion in ((0.0, 0.0, 0.0, 0.0), (float("nan"),) * 4, (0.0, 0.0, 0.0, 1.0)):
        buffer.append(PoseSample(0, "gripper", 1, (0.0, 0.0, 0.0), quaternion, 0.0, PoseState.UNTRACKED, 0, 0))
    assert np.isnan(buffer.window(0, 0).poses()).all(axis=(1, 2)).tolist() == [True, True, False]


def test_what_is_no_measurement_is_marked() -> None:
    buffer = PoseBuffer("gripper", 10)
    for number, state in enumerate(PoseState):
        buffer.append(pose(number, state=state))
    assert buffer.window(0, SECOND).measured.tolist() == [True, False, False, False]


def test_missing_frames_are_gaps_with_their_number() -> None:
    window = filled([*range(10), *range(13, 30), *range(31, 40)]).window(0, SECOND)
    assert [(g.start_ns, g.stop_ns, g.missing) for g in window.gaps] == [
        (90 * MS, 130 * MS, 3),
        (290 * MS, 310 * MS, 1),
    ]
    assert window.gaps[0].seconds == pytest.approx(0.04)


def test_a_silence_and_a_restarted_count_are_gaps_too() -> None:
    buffer = filled(list(range(10)))
    for number in range(10):
        buffer.append(pose(number, t_ns=SECOND + number * 10 * MS))
    for number in range(10, 20):
        buffer.append(pose(number, t_ns=3 * SECOND + number * 10 * MS))
    assert [g.missing for g in buffer.window(0, 10 * SECOND).gaps] == [0, 0]


def test_late_samples_are_sorted_in() -> None:
    window = filled([0, 1, 2, 4, 3, 6, 5, 7]).window(10 * MS, 60 * MS)
    assert window.sequence.tolist() == [1, 2, 3, 4, 5, 6]
    assert window.gaps == ()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 300), max_size=120), st.integers(2, 40), st.integers(0, 300), st.integers(0, 300))
def test_any_window_of_any_history_is_that_of_a_plain_list(times: list[int], capacity: int, t0: int, t1: int) -> None:
    buffer = WrenchBuffer(capacity)
    half = len(times) // 2
    for number, t_ns in enumerate(times[:half]):
        buffer.append(wrench(number, t_ns))
    rest = np.array(times[half:], dtype=np.int64)
    zeros = np.zeros(len(rest), dtype=np.int64)
    numbers = np.arange(half, len(times))
    values = np.column_stack([numbers, *[zeros + k for k in (2, 3, 4, 5, 6)]]).astype(float)
    buffer.extend(rest, numbers, values, zeros, zeros == 0, rest + MS)
    kept = sorted(list(enumerate(times))[-capacity:], key=lambda pair: pair[1])
    expected = [(number, t_ns) for number, t_ns in kept if t0 <= t_ns <= t1]
    window = buffer.window(t0, t1)
    assert list(zip(window.sequence.tolist(), window.t_ns.tolist(), strict=True)) == expected
    assert window.wrench[:, 0].tolist() == [float(number) for number, _ in expected]
    assert (len(buffer), buffer.total) == (min(len(times), capacity), len(times))


def test_the_latest_sample_comes_back_whole_or_is_stale() -> None:
    buffer = filled([1, 2, 3])
    assert buffer.latest(now_ns=40 * MS, max_age_ns=20 * MS) == pose(3)
    with pytest.raises(Stale, match=r"'gripper' is 0\.17 s old, more than the 0\.02 s .*`ident check`"):
        buffer.latest(now_ns=200 * MS, max_age_ns=20 * MS)
    with pytest.raises(DeviceError, match="No pose of 'other' has been received"):
        PoseBuffer("other", 10).latest(0, SECOND)
    forces = WrenchBuffer(10)
    forces.append(wrench(7, 50 * MS, valid=False))
    assert forces.latest(60 * MS, 20 * MS) == wrench(7, 50 * MS, valid=False)
    with pytest.raises(Stale, match="force/torque"):
        forces.latest(SECOND, 20 * MS)


def test_the_rate_falls_when_samples_stay_away() -> None:
    buffer = filled(list(range(200)))
    assert buffer.rate(1_990 * MS) == pytest.approx(100.0)
    assert buffer.rate(2_500 * MS) == pytest.approx(49.5, abs=1.0)
    assert buffer.rate(10 * SECOND) == 0.0


def forces_at(times: list[int], step: int = 1) -> WrenchBuffer:
    buffer = WrenchBuffer(1000)
    for t_ns in times:
        buffer.append(wrench(t_ns // MS * step, t_ns))
    return buffer


@pytest.mark.parametrize("step", [1, 7])
def test_wrenches_are_interpolated_between_neighbours_and_not_across_gaps(step: int) -> None:
    buffer = forces_at([*range(0, 50 * MS, MS), *range(60 * MS, 100 * MS, MS)], step)
    asked = np.array([-MS, 10 * MS, 10 * MS + MS // 4, 49 * MS, 55 * MS, 60 * MS, 99 * MS, 100 * MS])
    values, known = buffer.interpolate(asked)
    assert known.tolist() == [False, True, True, False, False, True, True, False]
    assert values[known, 0] == pytest.approx(np.array([10.0, 10.25, 60.0, 99.0]) * step)
    assert np.isnan(values[~known]).all()
    assert [g.missing for g in buffer.window(0, SECOND).gaps] == [10]


def test_an_invalid_neighbour_makes_a_wrench_unknown() -> None:
    buffer = WrenchBuffer(100)
    for number in range(10):
        buffer.append(wrench(number, number * MS, valid=number != 5))
    _, known = buffer.interpolate(np.array([3 * MS + 1, 4 * MS + 1, 5 * MS + 1, 6 * MS + 1]))
    assert known.tolist() == [True, False, False, True]


def test_the_counter_of_wrenches_may_wrap_around() -> None:
    buffer = WrenchBuffer(100)
    for i in range(20):
        buffer.append(wrench((2**32 - 10 + i) % 2**32, i * MS))
    assert buffer.window(0, SECOND).gaps == ()


def test_nothing_asked_and_nothing_there_is_no_error() -> None:
    buffer = WrenchBuffer(10)
    assert buffer.interpolate(np.zeros(0, dtype=np.int64))[0].shape == (0, 6)
    assert not buffer.interpolate(np.array([5]))[1].any()
    assert len(PoseBuffer("a", 5).window(0, SECOND).poses()) == 0
    assert PoseBuffer("a", 5).rate(0) == 0.0
    with pytest.raises(ValueError, match="at least 2"):
        PoseBuffer("a", 1)


def test_readers_never_see_a_half_written_row() -> None:
    buffer = PoseBuffer("gripper", 64)
    done = threading.Event()

    def write() -> None:
        for number in range(20_000):
            buffer.append(PoseSample(number, "gripper", number, (number,) * 3, (0, 0, 0, 1), 0, 0, number, number))
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not done.is_set():
        window = buffer.window(0, SECOND)
        assert np.all(window.positions == window.t_ns[:, None])
        assert np.all(np.diff(window.t_ns) == 1)
    writer.join()
    assert buffer.total == 20_000
