"""Replay at full speed: the simulated rig at 120 Hz + 1000 Hz is recorded, then decoded again by the drivers' decoders.

python -m bench.sessions_replay [SECONDS]
"""

import sys
import tempfile
import time
from pathlib import Path

from devices.clock import HostClock
from devices.natnet import NatNetClient, NatNetConfig
from devices.netft import NetFT, NetFTConfig
from devices.sim import SimulatedRig
from sessions import Recorder, open_session
from sessions.decode import Decoders
from sessions.replay import play

SPEED = 5.0


def main(seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "door.mcap"
        clock = HostClock(SPEED)
        with SimulatedRig(object="door", seed=1, speed=SPEED) as rig, Recorder(path, metadata={}) as recorder:
            ends = rig.endpoints
            natnet = NatNetConfig(server=ends.host, command_port=ends.natnet_command, data_port=ends.natnet_data)
            netft = NetFTConfig(host=ends.host, rdt_port=ends.rdt, http_port=ends.http)
            mocap = NatNetClient(natnet, clock, tap=recorder.datagram, on_poses=recorder.poses)
            ft = NetFT(netft, clock, tap=recorder.datagram, on_wrenches=recorder.wrench_columns)
            with mocap, ft:
                mocap.wait_ready(20)
                ft.wait_ready(20)
                time.sleep(seconds / SPEED)
                calibration = ft.calibration
        session = open_session(path)
        decoders = Decoders(natnet, netft, calibration, speed=SPEED)
        cpu = time.process_time()
        played = play(session, decoders.feed, speed=None)
        decoders.finish()
        cpu = time.process_time() - cpu
        same = all(
            len(session.poses(body)) == len(decoders.buffers[body].window(0, 2**62)) for body in session.bodies
        ) and len(session.wrenches()) == len(decoders.wrenches.window(0, 2**62))
    print(f"{played.session_s:.0f} s of session, {played.datagrams} datagrams: {played.speed:.0f} times real time")
    print(f"({played.session_s / cpu:.0f} times by processor time; limit 100); all samples again: {same}")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
