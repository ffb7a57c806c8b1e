"""The simulated rig as its users see it: a child process behind real sockets."""

import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from devices.errors import DeviceError
from devices.natnet.descriptions import ModelDef, RigidBodyDescription
from devices.natnet.messages import (
    Connect,
    Disconnect,
    Discovery,
    EchoRequest,
    EchoResponse,
    Frame,
    KeepAlive,
    Message,
    Request,
    RequestModelDef,
    Response,
    Sender,
    ServerInfo,
    Unrecognized,
)
from devices.natnet.packets import Malformed, decode, encode
from devices.netft.api import parse_api
from devices.netft.rdt import Command, decode_records, encode_request
from devices.netft.rdt import Request as RdtRequest
from devices.sim import Disturbances, SimulatedRig, SimulationError
from devices.sim.simulation import Simulation, SimulationConfig

Version = tuple[int, int]
REPO = Path(__file__).parents[2]


class Listener:
    """A client of both devices that keeps every datagram."""

    def __init__(self, rig: SimulatedRig, version: Version = (4, 1), rdt: Command | None = Command.REALTIME) -> None:
        self.version = version
        self.frames: dict[int, Frame] = {}
        self.messages: list[Message] = []
        self.records: list[np.ndarray] = []
        self.arrived = threading.Condition()
        self._stop = False
        e = rig.endpoints
        self.natnet = self._socket((e.host, e.natnet_command))
        self.rdt = self._socket((e.host, e.rdt))
        self.threads = [
            threading.Thread(target=self._receive, args=(self.natnet, self._natnet)),
            threading.Thread(target=self._receive, args=(self.rdt, self._rdt)),
        ]
        for thread in self.threads:
            thread.start()
        self.say(Connect(Sender("test")))
        if rdt is not None:
            self.rdt.send(encode_request(RdtRequest(rdt)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop = True
        for thread in self.threads:
            thread.join()
        self.natnet.close()
        self.rdt.close()

    def say(self, message: Message) -> None:
        self.natnet.send(encode(message, self.version))

    def ask(self, message: Message, kind):
        known = len(self.messages)
        self.say(message)
        return self.wait(lambda: next((m for m in self.messages[known:] if isinstance(m, kind)), None))

    def wait(self, ready, timeout: float = 20.0):
        with self.arrived:
            assert self.arrived.wait_for(ready, timeout), "nothing came"
            return ready()

    def window(self, start_ticks: int, stop_ticks: int) -> list[Frame]:
        """Frames of a movement; waits for the first one after it."""
        self.wait(lambda: any(f.mid_exposure_ticks > stop_ticks for f in list(self.frames.values())))
        chosen = [f for f in list(self.frames.values()) if start_ticks < f.mid_exposure_ticks < stop_ticks]
        return sorted(chosen, key=lambda f: f.number)

    def _socket(self, address) -> socket.socket:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        s.connect(address)
        s.settimeout(0.1)
        return s

    def _receive(self, s: socket.socket, take) -> None:
        alive = time.monotonic()
        while not self._stop:
            if s is self.natnet and time.monotonic() - alive > 1.0:
                alive = time.monotonic()
                self.say(KeepAlive())
            try:
                data = s.recv(65535)
            except TimeoutError:
                continue
            except ConnectionError:
                continue
            with self.arrived:
                take(data)
                self.arrived.notify_all()

    def _natnet(self, data: bytes) -> None:
        try:
            message = decode(data, self.version)
        except Malformed:
            return  # on its way while the version changed
        if isinstance(message, Frame):
            self.frames[message.number] = message
        else:
            self.messages.append(message)

    def _rdt(self, data: bytes) -> None:
        self.records.append(decode_records(data))


def poses(frames: list[Frame], body: int = 0) -> np.ndarray:
    result = np.tile(np.eye(4), (len(frames), 1, 1))
    result[:, :3, 3] = [f.rigid_bodies[body].position for f in frames]
    result[:, :3, :3] = Rotation.from_quat([f.rigid_bodies[body].quaternion for f in frames]).as_matrix()
    return result


@pytest.fixture(scope="module")
def ideal() -> Iterator[SimulatedRig]:
    with SimulatedRig("testbench", seed=3, speed=20, disturbances=Disturbances.none()) as rig:
        yield rig


def test_ideal_takes_lie_on_the_true_joints(ideal: SimulatedRig) -> None:
    truth = ideal.truth()
    tip2body = np.asarray(truth["tip2body"])
    with Listener(ideal) as listener:
        for joint in truth["joints"]:
            done = ideal.perform({"kind": "joint", "name": joint["name"]})
            tip = (poses(listener.window(done.start_ticks, done.stop_ticks)) @ tip2body)[:, :3, 3]
            axis, point = np.asarray(joint["axis"]), np.asarray(joint["point"])
            along = (tip - point) @ axis
            radius = np.linalg.norm(tip - point - along[:, None] * axis, axis=1)
            if joint["type"] == "rotary":
                assert np.ptp(along) < 2e-6
                assert np.ptp(radius) < 2e-6
            else:
                across = tip - tip[0] - ((tip - tip[0]) @ axis)[:, None] * axis
                assert np.abs(across).max() < 2e-6
                assert np.ptp(along) == pytest.approx(joint["upper"], abs=1e-5)
        handle = truth["handles"][0]
        done = ideal.perform({"kind": "handle", "name": handle["name"]})
        tip = (poses(listener.window(done.start_ticks, done.stop_ticks)) @ tip2body)[:, :3, 3]
        axis, point = np.asarray(handle["axis"]), np.asarray(handle["point"])
        along = (tip - point) @ axis
        assert np.abs(tip - point - along[:, None] * axis).max() < 2e-6
        assert along.min() == pytest.approx(0.0, abs=1e-4)
        assert along.max() == pytest.approx(handle["length_m"], abs=1e-4)


def test_held_force_is_the_weight_in_the_sensor_frame(ideal: SimulatedRig) -> None:
    truth = ideal.truth()
    with Listener(ideal) as listener:
        done = ideal.perform({"kind": "hold", "joint": "turn", "at": 0.5})
        frames = listener.window(done.start_ticks, done.stop_ticks)
        sensor2world = poses(frames)[-1, :3, :3] @ np.asarray(truth["sensor2body"])
        counts = np.concatenate(listener.records)["counts"][-1]
    weight = sensor2world.T @ (truth["mass_kg"] * np.asarray(truth["gravity"]))
    assert counts[:3] / 1e6 == pytest.approx(weight, abs=1e-4)
    assert counts[3:] / 1e6 == pytest.approx(np.cross(truth["com_m"], weight), abs=1e-4)


def test_what_cannot_be_performed_is_said(ideal: SimulatedRig) -> None:
    with pytest.raises(SimulationError, match="turn, slide"):
        ideal.perform({"kind": "joint", "name": "drawer"})
    with pytest.raises(SimulationError, match="about_screws"):
        ideal.perform({"kind": "dance"})
    with pytest.raises(SimulationError, match="careful"):
        ideal.perform({"kind": "tap", "style": "wild"})
    with pytest.raises(SimulationError, match="between 0 and 1"):
        ideal.perform({"kind": "hold", "joint": "turn", "at": "7"})


def test_muted_devices_fall_silent_and_come_back(ideal: SimulatedRig) -> None:
    with Listener(ideal) as c:
        c.wait(lambda: len(c.frames) > 5)
        ideal.mute("mocap")
        c.ask(EchoRequest(1), EchoResponse)
        last = max(c.frames)
        ideal.mute("mocap", on=False)
        c.wait(lambda: max(c.frames) > last)
        with pytest.raises(SimulationError, match="mocap and force"):
            ideal.mute("toaster")


def record_session(seed: int, pauses: bool) -> list[tuple[dict[int, tuple], dict[int, tuple]]]:
    """Poses and wrenches of three movements by their number in the movement: a busy machine may drop some."""
    result = []
    with SimulatedRig("door", seed=seed, speed=20) as rig, Listener(rig, rdt=Command.BUFFERED) as listener:
        for movement in (
            {"kind": "about_screws"},
            {"kind": "joint", "name": "lever", "style": "careful"},
            {"kind": "hold", "joint": "hinge", "at": "upper"},
        ):
            if pauses:
                seen = max(listener.frames, default=0)
                listener.wait(lambda seen=seen: max(listener.frames, default=0) > seen + 97)
            done = rig.perform(movement)
            frames = listener.window(done.start_ticks, done.stop_ticks)
            since_start = (frames[0].mid_exposure_ticks - done.start_ticks) * 120 / 3_312_787
            first = frames[0].number - round(since_start - 0.5)
            # The window ends half a frame after the last frame; the records count at 7000 Hz.
            start, stop = first * 7000 // 120, (2 * frames[-1].number + 1) * 7000 // 240
            listener.wait(lambda stop=stop: listener.records[-1]["ft_sequence"][-1] >= stop)
            poses = {f.number - first: f.rigid_bodies[0].position + f.rigid_bodies[0].quaternion for f in frames}
            records = np.concatenate(listener.records)
            inside = records[(records["ft_sequence"] >= start) & (records["ft_sequence"] < stop)]
            wrenches = {int(r["ft_sequence"]) - start: tuple(r["counts"].tolist()) for r in inside}
            result.append((poses, wrenches))
    return result


def test_same_seed_and_movements_give_the_same_bits() -> None:
    once, again, other = record_session(5, False), record_session(5, True), record_session(6, False)
    for first, second in zip(once, again, strict=True):
        for values, repeated in zip(first, second, strict=True):
            common = values.keys() & repeated.keys()
            assert len(common) > 100
            assert all(values[i] == repeated[i] for i in common)
    assert all(once[0][0][i] != other[0][0][i] for i in once[0][0].keys() & other[0][0].keys())


@pytest.mark.parametrize("version", [(2, 7), (3, 0), (4, 1), (4, 2)])
def test_every_version_connects_names_its_bodies_and_streams(version: Version) -> None:
    with (
        SimulatedRig(speed=5, natnet_version=version, reference=True, extra_bodies=2) as rig,
        Listener(rig, version) as c,
    ):
        info = c.wait(lambda: next((m for m in c.messages if isinstance(m, ServerInfo)), None))
        assert info.version == version
        models = c.ask(RequestModelDef(), ModelDef)
        names = {d.id: d.name for d in models.descriptions if isinstance(d, RigidBodyDescription)}
        assert names == {1: "gripper", 2: "object", 3: "body1", 4: "body2"}
        c.wait(lambda: len(c.frames) > 20)
        frame = c.frames[max(c.frames)]
        assert [b.id for b in frame.rigid_bodies] == [1, 2, 3, 4]
        assert all(b.tracking_valid for b in frame.rigid_bodies)
        if version >= (3, 0):
            assert info.clock_hz == 3_312_787
            assert info.data_port == rig.endpoints.natnet_data
            a, b = (c.frames[n] for n in sorted(c.frames)[:2])
            per_frame = (b.mid_exposure_ticks - a.mid_exposure_ticks) / (b.number - a.number)
            assert per_frame == pytest.approx(3_312_787 / 120, rel=1e-4)
            assert frame.mid_exposure_ticks < frame.camera_data_received_ticks < frame.transmit_ticks


def test_commands_of_the_protocol() -> None:
    with SimulatedRig(speed=5) as rig, Listener(rig) as c:
        first = c.ask(EchoRequest(77), EchoResponse)
        second = c.ask(EchoRequest(78), EchoResponse)
        assert (first.stamp, second.stamp) == (77, 78)
        assert second.ticks > first.ticks
        assert c.ask(Discovery(Sender("test")), ServerInfo).sender.name == "ident simulated Motive"
        assert c.ask(Request("Bitstream,3.0"), Response).code == 0
        c.version = (3, 0)
        assert c.ask(Request("NoSuchCommand"), Unrecognized)
        c.wait(lambda: len(c.frames) > 5)
        rig.redefine_body()
        c.wait(lambda: any(f.models_changed for f in c.frames.values()))
        c.say(Disconnect())
        c.ask(EchoRequest(79), EchoResponse)
        quiet = max(c.frames)
        # The frame counter runs on while nobody listens: after connecting again there is a gap.
        c.ask(EchoRequest(80), EchoResponse)
        assert max(c.frames) == quiet


def test_multicast_reaches_a_member_of_the_group() -> None:
    with SimulatedRig(speed=5, multicast=True) as rig:
        e = rig.endpoints
        assert e.multicast == "239.255.42.99"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as member:
            member.bind(("", e.natnet_data))
            try:
                membership = socket.inet_aton(e.multicast) + socket.inet_aton("127.0.0.1")
                member.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
                member.settimeout(5.0)
                datagram = member.recv(65535)
            except OSError as error:
                pytest.skip(f"this machine has no multicast on loopback: {error}")
        assert isinstance(decode(datagram, (4, 1)), Frame)


def test_rdt_modes_counts_and_bias() -> None:
    with SimulatedRig(speed=5, ft_hz=7000) as rig, Listener(rig, rdt=None) as c:
        c.rdt.send(b"garbage")
        c.rdt.send(encode_request(RdtRequest(Command.REALTIME, 50)))
        c.wait(lambda: len(c.records) >= 50)
        assert [int(r["rdt_sequence"][0]) for r in c.records] == list(range(1, 51))
        assert set(np.diff(np.concatenate(c.records)["ft_sequence"].astype(int))) == {1}
        c.rdt.send(encode_request(RdtRequest(Command.BIAS)))
        c.rdt.send(encode_request(RdtRequest(Command.BUFFERED)))
        c.wait(lambda: len(c.records) >= 55)
        assert len(c.records[-1]) == 40
        assert np.abs(c.records[-1]["counts"][:, :3]).max() < 0.5e6
        c.rdt.send(encode_request(RdtRequest(Command.STOP)))


def test_calibration_page() -> None:
    with SimulatedRig(speed=5, torque_unit="N-mm", ft_hz=2000) as rig:
        base = f"http://127.0.0.1:{rig.endpoints.http}"
        with urllib.request.urlopen(f"{base}/netftapi2.xml") as reply:
            calibration = parse_api(reply.read())
        assert calibration.counts_per_newton == 1e6
        assert calibration.counts_per_newton_metre == 1e6
        assert calibration.rdt_rate_hz == 2000
        with pytest.raises(urllib.error.HTTPError, match="404") as refused:
            urllib.request.urlopen(f"{base}/other")
        refused.value.close()


def test_killed_and_restarted_on_the_same_ports_with_another_version() -> None:
    with SimulatedRig("cabinet", speed=20) as rig:
        before = rig.endpoints
        done = rig.perform({"kind": "place", "joint": "middle", "at": 0.5})
        rig.begin({"kind": "joint", "name": "top"})
        rig.kill()
        with pytest.raises(SimulationError, match="not running"):
            rig.perform({"kind": "tap"})
        rig.restart(natnet_version=(3, 0))
        assert rig.endpoints == before
        with Listener(rig, (3, 0)) as c:
            c.wait(lambda: len(c.frames) > 5)
            again = rig.perform({"kind": "hold", "joint": "top", "at": "upper"})
        assert again.info["index"] == done.info["index"] + 2
        assert again.info["configuration"]["middle"] == done.info["configuration"]["middle"]


def test_a_busy_port_is_said() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(SimulationError, match=f"{port}.*in use"), SimulatedRig(command_port=port):
            pass


def test_no_orphan_after_the_parent_was_killed() -> None:
    program = (
        "import sys\nfrom devices.sim import SimulatedRig\n"
        "rig = SimulatedRig()\nrig.start()\nprint(rig.process.pid, flush=True)\nsys.stdin.read()\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with parent:
        child = int(parent.stdout.readline())
        watched = os.pidfd_open(child)
        parent.send_signal(signal.SIGKILL)
        parent.wait()

        gone, _, _ = select.select([watched], [], [], 10.0)
        os.close(watched)
        assert gone


def test_others_can_ask_while_a_movement_is_made(ideal: SimulatedRig) -> None:
    ideal.begin({"kind": "free", "seconds": 2.0})
    with pytest.raises(SimulationError, match="already"):
        ideal.begin({"kind": "tap"})
    ideal.mute("force")
    ideal.mute("force", on=False)
    assert ideal.wait().info["movement"]["kind"] == "free"


def test_a_busy_http_port_leaves_nothing_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(DeviceError, match=r"HTTP.*in use"):
        Simulation(SimulationConfig(http_port=taken.getsockname()[1]))


def test_ctrl_c_in_the_terminal_leaves_the_rig_to_its_program(ideal: SimulatedRig) -> None:
    ideal.process.send_signal(signal.SIGINT)
    ideal.perform({"kind": "place", "joint": "turn", "at": "lower"})


def test_sigterm_ends_it_cleanly() -> None:
    child = subprocess.Popen([sys.executable, "-m", "devices.sim"], cwd=REPO, stdout=subprocess.PIPE)
    with child:
        assert b"natnet_command" in child.stdout.readline()
        child.send_signal(signal.SIGTERM)
        assert child.wait(10) == 0
