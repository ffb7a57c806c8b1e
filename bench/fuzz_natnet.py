"""A million hostile datagrams for the NatNet driver.

    python -m bench.fuzz_natnet [--count 1000000] [--seed 1]

Each is a message of some version that was cut, prolonged, bit-flipped, given another count or replaced by noise. It
goes through the decoder, as its own version or as another, and through the whole way to the buffers. Each must be
decoded or be `Malformed`; none may take more than 5 ms of processor time; the process must not grow.
"""

import argparse
import gc
import itertools
import random
import resource
import struct
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from devices.clock import HostClock
from devices.natnet import Malformed, NatNetConfig, packets
from devices.natnet.connection import Connection
from devices.natnet.descriptions import MarkerSetDescription, ModelDef, RigidBodyDescription, SkeletonDescription
from devices.natnet.messages import (
    AnalogDevice,
    Asset,
    Connect,
    EchoResponse,
    Frame,
    LabeledMarker,
    MarkerSet,
    Message,
    RigidBody,
    Sender,
    ServerInfo,
    Skeleton,
)
from devices.natnet.stream import PoseStream
from devices.natnet.types import Version

LIMIT_MS = 5.0
VERSIONS: tuple[Version, ...] = ((2, 5), (2, 7), (2, 9), (2, 11), (3, 0), (3, 1), (4, 0), (4, 1), (4, 2), (4, 9))
COUNTS = (0, 1, 2, 7, 1000, 16_000, 65_535, 2**31 - 1, -1, -(2**31))


@dataclass(slots=True)
class Tally:
    """What became of the datagrams."""

    decoded: int = 0
    refused: int = 0
    slowest_ns: int = 0
    grown_kib: int = 0


def samples() -> list[Message]:
    """Messages like those of a busy volume, and a few that are as large as a datagram can be."""
    bodies = tuple(RigidBody(i, (0.1 * i, 1.0, 2.0), (0.0, 0.0, 0.0, 1.0), 0.0004) for i in range(20))
    markers = tuple(LabeledMarker(i << 16 | 1, (0.1 * i, 0.0, 0.0), 0.014, 2) for i in range(60))
    sets = tuple(MarkerSet(f"set {i}", ((0.0, 0.0, 0.0),) * 4) for i in range(20))
    plates = (AnalogDevice(1, ((1.0, 2.0, 3.0),) * 6),)
    skeletons, assets = (Skeleton(1, bodies[:5]),), (Asset(1, bodies[:2], markers[:3]),)
    described = tuple(RigidBodyDescription(f"body {i}", i) for i in range(20))
    return [
        Frame(7, sets, ((0.0, 0.0, 0.0),) * 9, bodies, skeletons, assets, markers, plates, plates, ptp=(1, 2)),
        Frame(8, rigid_bodies=bodies[:1], mid_exposure_ticks=77),
        Frame(9, marker_sets=(MarkerSet("", ()),) * 12_000),
        Frame(10, skeletons=(Skeleton(1, ()),) * 7_000),
        Frame(11, rigid_bodies=bodies[:1] * 1_400),
        Frame(12, devices=(AnalogDevice(1, ((),) * 15_000),), force_plates=plates),
        Frame(13, other_markers=((0.0, 0.0, 0.0),) * 5_300),
        Frame(14, labeled_markers=markers[:1] * 2_300),
        ModelDef((*described, SkeletonDescription("man", 1, described[:5]), MarkerSetDescription("all", ("a", "b")))),
        ModelDef((MarkerSetDescription("all", ("",) * 60_000),)),
        ServerInfo(Sender("Motive", (3, 0, 0, 0), (4, 1, 0, 0)), 10_000_000, 1511),
        Connect(Sender("client")),
        EchoResponse(1, 2),
    ]


def hostile(seed: int, count: int) -> Iterator[tuple[bytes, Version]]:
    """Mutations of good datagrams, each with the version to read it as."""
    rng = random.Random(seed)
    good = [(packets.encode(m, v), v) for v in VERSIONS for m in samples()]
    small = [pair for pair in good if len(pair[0]) < 6000]
    for _ in range(count):
        data, version = rng.choice(good if rng.random() < 0.02 else small)
        mutant = bytearray(data)
        match rng.randrange(6):
            case 0:
                del mutant[rng.randrange(len(mutant) + 1) :]
            case 1:
                mutant += rng.randbytes(rng.randrange(1, 100))
            case 2:
                for _ in range(rng.randrange(1, 9)):
                    mutant[rng.randrange(len(mutant))] ^= 1 << rng.randrange(8)
            case 3 if len(mutant) >= 12:
                struct.pack_into("<i", mutant, rng.randrange(4, len(mutant) - 4), rng.choice(COUNTS))
            case 4:
                mutant[4:] = rng.randbytes(rng.randrange(0, 1500))
            case _:
                version = rng.choice(VERSIONS)
        yield bytes(mutant), version


def driver() -> Callable[[bytes, Version], object]:
    """The whole way of a datagram from the socket to the buffers."""
    clock = HostClock()
    connection = Connection(NatNetConfig(capacity=64), clock, lambda *_: None, PoseStream((), 64, 0.002))
    # Frames wait for up to a second for names and clock; here they come slowly, so that few wait together.
    seconds = itertools.count(0.0, 0.3)
    connection.receive(packets.encode(samples()[10], (4, 1)), clock.now_ns(), next(seconds))

    def receive(data: bytes, version: Version) -> object:
        connection.version = version
        now_s = next(seconds)
        connection.due(now_s)
        return connection.receive(data, clock.now_ns(), now_s)

    return receive


def timed_decode(data: bytes, version: Version) -> tuple[bool, int]:
    """Whether a datagram could be decoded, and the processor time that it took, nanoseconds."""
    start_ns = time.thread_time_ns()
    try:
        packets.decode(data, version)
    except Malformed:
        return False, time.thread_time_ns() - start_ns
    return True, time.thread_time_ns() - start_ns


def run(count: int, seed: int) -> Tally:
    tally = Tally()
    receive = driver()
    grown_from = 0
    gc.collect()
    gc.freeze()  # so that no datagram pays for walking through the libraries
    for i, (data, version) in enumerate(hostile(seed, count)):
        decoded, took_ns = timed_decode(data, version)
        if took_ns > LIMIT_MS * 1e6 / 2:
            # Again, since a busy machine slows down whatever runs just then.
            took_ns = min(took_ns, *(timed_decode(data, version)[1] for _ in range(4)))
        tally.decoded += decoded
        tally.refused += not decoded
        start_ns = time.thread_time_ns()
        receive(data, version)
        tally.slowest_ns = max(tally.slowest_ns, took_ns, time.thread_time_ns() - start_ns)
        if i == count // 5:
            # Rings and caches are full by now.
            grown_from = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    gc.unfreeze()
    tally.grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - grown_from
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    began = time.monotonic()
    tally = run(arguments.count, arguments.seed)
    seconds = time.monotonic() - began
    print(f"{arguments.count} datagrams in {seconds:.0f} s: {tally.decoded} decoded, {tally.refused} malformed")
    print(f"slowest {tally.slowest_ns / 1e6:.2f} ms (limit {LIMIT_MS} ms), grown by {tally.grown_kib} KiB")
    sys.exit(0 if tally.slowest_ns < LIMIT_MS * 1e6 and tally.grown_kib < 4096 else 1)


if __name__ == "__main__":
    main()
