"""The NatNet driver under load: a fast server with many bodies in a child process.

    python -m bench.natnet_stream [--rate 360] [--bodies 20] [--seconds 10] [--busy]

Prints frames sent and received, the kernel's drops, how late the receive stamp is after the moment of sending (it
is written into each frame), and the share of one core that the driver's process used. With `--busy` another thread
keeps the interpreter busy all the time. Fails on a loss, and on a p99 over 1 ms.
"""

import argparse
import multiprocessing
import resource
import select
import socket
import sys
import threading
import time
from collections.abc import Sequence

import numpy as np

from devices.clock import HostClock
from devices.natnet import NatNetClient, NatNetConfig, packets
from devices.natnet.descriptions import ModelDef, RigidBodyDescription
from devices.natnet.messages import (
    Connect,
    EchoRequest,
    EchoResponse,
    Frame,
    Message,
    RequestModelDef,
    RigidBody,
    Sender,
    ServerInfo,
)
from devices.samples import PoseSample

VERSION = (4, 1)
CLOCK_HZ = 10_000_000
LIMIT_MS = 1.0


def answer(message: Message, bodies: int) -> Message | None:
    match message:
        case Connect():
            return ServerInfo(Sender("bench", (3, 1, 0, 0), (*VERSION, 0, 0)), CLOCK_HZ)
        case RequestModelDef():
            return ModelDef(tuple(RigidBodyDescription(f"body {i}", i) for i in range(bodies)))
        case EchoRequest(stamp):
            return EchoResponse(stamp, time.time_ns() // 100)
        case _:
            return None


def serve(rate: float, bodies: int, frames: int, ports: "multiprocessing.Queue[int]") -> None:
    """Send frames to the first client, each with the moment of sending as its exposure, in ticks of 100 ns."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    ports.put(sock.getsockname()[1])
    client = None
    number = 0
    due = time.monotonic()
    while number < frames:
        if select.select([sock], [], [], max(0.0, due - time.monotonic()))[0]:
            data, client = sock.recvfrom(2048)
            reply = answer(packets.decode(data, VERSION), bodies)
            if reply is not None:
                sock.sendto(packets.encode(reply, VERSION), client)
            continue
        due += 1.0 / rate
        if client is not None:
            number += 1
            poses = tuple(RigidBody(i, (1e-4 * number, 1.0, 2.0), (0.0, 0.0, 0.0, 1.0), 0.0004) for i in range(bodies))
            frame = Frame(number, rigid_bodies=poses, mid_exposure_ticks=time.time_ns() // 100)
            sock.sendto(packets.encode(frame, VERSION), client)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=360.0)
    parser.add_argument("--bodies", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--busy", action="store_true")
    arguments = parser.parse_args()
    frames = round(arguments.rate * arguments.seconds)
    ports: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(arguments.rate, arguments.bodies, frames, ports), daemon=True)
    server.start()
    late_ns: list[int] = []

    def collect(samples: Sequence[PoseSample]) -> None:
        late_ns.append(samples[0].received_ns - samples[0].ticks * 100)

    stop = threading.Event()

    def spin() -> None:
        while not stop.is_set():
            sum(range(1000))

    if arguments.busy:
        threading.Thread(target=spin, daemon=True).start()
    config = NatNetConfig(command_port=ports.get())
    used = resource.getrusage(resource.RUSAGE_SELF)
    began = time.monotonic()
    with NatNetClient(config, HostClock(), on_poses=collect) as client:
        server.join()
        while (health := client.health()).frames < frames and time.monotonic() - began < arguments.seconds + 5.0:
            time.sleep(0.05)
    stop.set()
    took = resource.getrusage(resource.RUSAGE_SELF)
    share = (took.ru_utime + took.ru_stime - used.ru_utime - used.ru_stime) / (time.monotonic() - began)
    late_ms = np.array(late_ns) / 1e6
    p50, p99 = np.percentile(late_ms, [50, 99])
    print(f"{frames} frames of {arguments.bodies} bodies at {arguments.rate:.0f} Hz: {health.frames} received,")
    print(f"{health.lost_frames} lost, {health.kernel_drops} dropped by the kernel, {health.malformed} malformed")
    print(f"receive stamp after sending: p50 {p50:.3f} ms, p99 {p99:.3f} ms; {share:.0%} of a core")
    sys.exit(0 if health.frames == frames and health.kernel_drops == 0 and p99 < LIMIT_MS else 1)


if __name__ == "__main__":
    main()
