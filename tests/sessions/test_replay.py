"""A session played again: through the drivers' decoders, and out on the network."""

import itertools
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from devices.clock import HostClock
from devices.natnet import NatNetClient, NatNetConfig
from devices.netft import NetFT, NetFTConfig, SensorCalibration
from devices.samples import DeviceEvent
from devices.sim import SimulatedRig
from sessions import Recorder, SessionError, Take, open_session
from sessions.datagrams import Datagram, Datagrams
from sessions.decode import Decoders
from sessions.imports import import_recording
from sessions.replay import Played, play
from sessions.serve import Place, SessionServer

SPEED = 5.0
BUSY_S = 0.7
"""Real time for which the driver does not come to its sockets; a server silent for so long would be lost."""


@dataclass(frozen=True)
class Recorded:
    path: Path
    natnet: NatNetConfig
    calibration: SensorCalibration


@pytest.fixture(scope="module")
def rig_session(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A few seconds of the simulated rig, recorded by the drivers over real sockets on a busy computer."""
    path, clock = tmp_path_factory.mktemp("replay") / "door.mcap", HostClock(SPEED)
    seen = itertools.count()
    with SimulatedRig(object="door", seed=1, speed=SPEED) as rig, Recorder(path, metadata={"speed": SPEED}) as recorder:
        ends = rig.endpoints
        natnet = NatNetConfig(server=ends.host, command_port=ends.natnet_command, data_port=ends.natnet_data)
        netft = NetFTConfig(host=ends.host, rdt_port=ends.rdt, http_port=ends.http)

        def dawdle(stream: str, t_ns: int, data: bytes) -> None:
            recorder.datagram(stream, t_ns, data)
            if next(seen) in (100, 101, 600):
                threading.Event().wait(BUSY_S)

        with (
            NatNetClient(natnet, clock, tap=dawdle, on_poses=recorder.poses, on_event=recorder.device_event) as mocap,
            NetFT(
                netft, clock, tap=recorder.datagram, on_wrenches=recorder.wrench_columns, on_event=recorder.device_event
            ) as ft,
        ):
            mocap.wait_ready(10)
            ft.wait_ready(10)
            joint = rig.description()["joint"][0]["name"]
            done = rig.perform({"kind": "joint", "name": joint})
            t0, t1 = mocap.ticks_to_host(done.start_ticks), mocap.ticks_to_host(done.stop_ticks)
            calibration = ft.calibration
        recorder.take(Take(1, joint, "joint", t0, t1))
    return Recorded(path, natnet, calibration)


def test_the_decoders_give_the_recorded_samples_again_bit_for_bit(rig_session: Recorded) -> None:
    session = open_session(rig_session.path)
    decoders = Decoders(rig_session.natnet, None, rig_session.calibration, speed=SPEED)
    played = play(session, decoders.feed, speed=None)
    decoders.finish()
    assert decoders.malformed == 0
    assert played.datagrams == sum(s.count for s in session.info().streams if "/" in s.name)
    assert set(decoders.buffers) == set(session.bodies)
    for body in session.bodies:
        recorded = session.poses(body)
        again = decoders.buffers[body].window(0, 2**62)
        for column in ("t_ns", "positions", "quaternions", "states", "sequence", "ticks", "received_ns"):
            np.testing.assert_array_equal(getattr(again, column), getattr(recorded, column), err_msg=column)
    recorded_wrenches, again_wrenches = session.wrenches(), decoders.wrenches.window(0, 2**62)
    for column in ("t_ns", "wrench", "valid", "status", "sequence", "received_ns"):
        np.testing.assert_array_equal(
            getattr(again_wrenches, column), getattr(recorded_wrenches, column), err_msg=column
        )


def test_a_server_that_came_back_is_timed_by_its_new_clock_again(tmp_path: Path) -> None:
    path, clock = tmp_path / "restarted.mcap", HostClock(SPEED)
    told: dict[str, threading.Event] = {kind: threading.Event() for kind in ("lost", "resumed")}

    def tell(event: DeviceEvent) -> None:
        told.get(event.kind, threading.Event()).set()

    with SimulatedRig(object="door", seed=1, speed=SPEED) as rig, Recorder(path, metadata={}) as recorder:
        ends = rig.endpoints
        config = NatNetConfig(server=ends.host, command_port=ends.natnet_command, data_port=ends.natnet_data)
        hear = {"tap": recorder.datagram, "on_poses": recorder.poses, "on_event": tell}
        with NatNetClient(config, clock, **hear) as mocap:
            mocap.wait_ready(20)
            rig.kill()
            assert told["lost"].wait(20)
            rig.restart()
            assert told["resumed"].wait(20)
            rig.perform({"kind": "tap"})
    session = open_session(path)
    decoders = Decoders(config, speed=SPEED)
    play(session, decoders.feed, speed=None)
    for body in session.bodies:
        recorded, again = session.poses(body), decoders.buffers[body].window(0, 2**62)
        for column in ("t_ns", "positions", "states", "sequence", "ticks", "received_ns"):
            np.testing.assert_array_equal(getattr(again, column), getattr(recorded, column), err_msg=column)


def test_a_take_is_played_alone(rig_session: Recorded) -> None:
    session = open_session(rig_session.path)
    take = session.take(1)
    times: list[int] = []

    def keep(batch: Datagrams) -> None:
        times.extend(d.t_ns for d in batch)

    play(session, keep, speed=None, t0_ns=take.t0_ns, t1_ns=take.t1_ns, streams=["natnet/data"])
    assert take.t0_ns <= min(times) <= max(times) <= take.t1_ns
    everything = [d.t_ns for d in session.datagrams(streams=["natnet/data"])]
    assert times == [t_ns for t_ns in everything if take.t0_ns <= t_ns <= take.t1_ns]
    assert len(times) < len(everything)


def test_a_paced_replay_can_be_stopped(rig_session: Recorded) -> None:
    stop = threading.Event()
    got: list[Datagram] = []

    def deliver(batch: Datagrams) -> None:
        got.extend(batch)
        if len(got) > 500:
            stop.set()

    played = play(open_session(rig_session.path), deliver, speed=20.0, stop=stop)
    assert 500 < played.datagrams == len(got) < 2500
    assert [d.t_ns for d in got] == sorted(d.t_ns for d in got)


def test_a_served_session_looks_like_the_rig(rig_session: Recorded) -> None:
    """The drivers connect to the served session and measure the same movement again."""
    session = open_session(rig_session.path)
    clock = HostClock(SPEED)
    with SessionServer(session, Place(natnet=0, rdt=0, http=0), rig_session.calibration, speed=SPEED) as server:
        place = server.place
        natnet = NatNetConfig(server=place.host, command_port=place.natnet)
        netft = NetFTConfig(host=place.host, rdt_port=place.rdt, http_port=place.http)
        results: list[Played] = []
        playing = threading.Thread(target=lambda: results.append(server.run()))
        playing.start()
        with NetFT(netft, clock) as ft, NatNetClient(natnet, clock) as mocap:
            mocap.wait_ready(20)
            ft.wait_ready(20)
            playing.join()
            assert ft.calibration == rig_session.calibration
            (body,) = session.bodies
            seen, recorded = mocap.buffers[body].window(0, 2**62), session.poses(body)
            health = mocap.health()
            wrenches = ft.buffer.window(0, 2**62)
    assert results[0].datagrams > 1000
    assert health.time_source == "exposure"
    common, at_recorded, at_seen = np.intersect1d(recorded.ticks, seen.ticks, return_indices=True)
    assert len(common) > 0.8 * len(recorded)
    np.testing.assert_array_equal(seen.positions[at_seen], recorded.positions[at_recorded])
    offsets = seen.t_ns[at_seen] - recorded.t_ns[at_recorded]
    assert np.ptp(offsets) < 200_000_000 * SPEED
    _, at_recorded, at_seen = np.intersect1d(session.wrenches().sequence, wrenches.sequence, return_indices=True)
    assert len(at_seen) > 0.8 * len(session.wrenches())
    np.testing.assert_array_equal(wrenches.wrench[at_seen], session.wrenches().wrench[at_recorded])


def test_an_imported_recording_cannot_be_served(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("1 2 3 0 0 0 1\n")
    session = open_session(import_recording(log, tmp_path / "log.mcap").path)
    with pytest.raises(SessionError, match="no raw datagrams"):
        SessionServer(session, Place(natnet=0, rdt=0, http=0))
