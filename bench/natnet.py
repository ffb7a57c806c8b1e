"""How fast frames are decoded, against the public clients `natnet` and `NatNetSDK`, in the same run.

    python -m bench.natnet [--bodies 20] [--markers 80] [--frames 2000]

Whole frames of NatNet 3.0 and 4.1 with that many rigid bodies and labeled markers. Each decoder reads the same
datagrams in turns; the figure is the median over the turns. Prints the ratios, and fails below 3.
"""

import argparse
import contextlib
import io
import statistics
import sys
import time
import warnings
from collections.abc import Callable

from devices.natnet import packets
from devices.natnet.frames import decode_frame
from devices.natnet.messages import Frame, LabeledMarker, MarkerSet, RigidBody
from devices.natnet.types import Version

Decode = Callable[[bytes], object]
LEAST_RATIO = 3.0
TURNS = 7


def frame(number: int, bodies: int, markers: int) -> Frame:
    place = 0.001 * number
    return Frame(
        number,
        marker_sets=tuple(MarkerSet(f"body {i}", ((place, 0.0, 0.0),) * 4) for i in range(bodies)),
        rigid_bodies=tuple(RigidBody(i, (place, 1.0, 2.0), (0.0, 0.0, 0.0, 1.0), 0.0004) for i in range(bodies)),
        labeled_markers=tuple(LabeledMarker(i << 16, (place, 0.0, 0.0), 0.014, 2, 0.0003) for i in range(markers)),
        timestamp=place,
        mid_exposure_ticks=number * 27_000,
        ptp=(0, 0),
    )


def natnet_decoder(version: Version) -> Decode:
    from natnet import Version as TheirVersion
    from natnet.data_frame import DataFrame
    from natnet.packet_buffer import PacketBuffer

    def decode(datagram: bytes) -> object:
        buffer = PacketBuffer(datagram)
        buffer.pointer = 4
        return DataFrame.read_from_buffer(buffer, TheirVersion(*version))

    return decode


def sdk_decoder(version: Version) -> Decode:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from natnetsdk.NatNetClient import NatNetClient
    client = object.__new__(NatNetClient)
    client.new_frame_listener = client.rigid_body_listener = None
    unpack = client._NatNetClient__unpack_mocap_data
    return lambda datagram: unpack(datagram[4:], len(datagram) - 4, *version)


def microseconds(decode: Decode, datagrams: list[bytes]) -> float:
    start_ns = time.thread_time_ns()
    for datagram in datagrams:
        decode(datagram)
    return (time.thread_time_ns() - start_ns) / len(datagrams) / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, default=20)
    parser.add_argument("--markers", type=int, default=80)
    parser.add_argument("--frames", type=int, default=200)
    arguments = parser.parse_args()
    worst = float("inf")
    for version in ((3, 0), (4, 1)):
        made = (frame(i, arguments.bodies, arguments.markers) for i in range(arguments.frames))
        datagrams = [packets.encode(each, version) for each in made]
        decoders: dict[str, Decode] = {
            "ours, whole frame": lambda datagram, v=version: packets.decode(datagram, v),
            "ours, rigid bodies only": lambda datagram, v=version: decode_frame(datagram, v, with_markers=False),
            "natnet": natnet_decoder(version),
            "NatNetSDK": sdk_decoder(version),
        }
        turns: dict[str, list[float]] = {name: [] for name in decoders}
        for _ in range(TURNS):
            for name, decode in decoders.items():
                with contextlib.redirect_stdout(io.StringIO()):
                    turns[name].append(microseconds(decode, datagrams))
        took = {name: statistics.median(times) for name, times in turns.items()}
        ours = took["ours, whole frame"]
        print(f"NatNet {version[0]}.{version[1]}, {len(datagrams[0])} bytes a frame")
        for name, us in took.items():
            print(f"  {name:24} {us:8.1f} µs   {us / ours:5.1f} × ours")
        worst = min(worst, took["natnet"] / ours, took["NatNetSDK"] / ours)
    print(f"smallest ratio {worst:.1f}, at least {LEAST_RATIO} wanted")
    sys.exit(0 if worst >= LEAST_RATIO else 1)


if __name__ == "__main__":
    main()
