"""A million hostile datagrams for the Net F/T driver.

    python -m bench.fuzz_netft [--count 1000000] [--seed 1]

Each is a record, a block of records or a request that was cut, prolonged, bit-flipped or replaced by noise. It goes
through the decoder and through the whole way to the buffer. Each must be decoded or be `Malformed`; none may take more
than 5 ms of processor time; the process must not grow.
"""

import argparse
import gc
import resource
import sys
import time
from collections.abc import Iterator

import numpy as np

from devices.buffer import WrenchBuffer
from devices.clock import HostClock
from devices.netft import Malformed, Request, decode_records, decode_request, encode_records, encode_request, rdt
from devices.netft.intake import Intake
from devices.netft.receiver import Arrivals

LIMIT_MS = 5.0


def hostile(rng: np.random.Generator, count: int) -> Iterator[bytes]:
    """Mutations of good datagrams, whose sequence goes on as a sensor's would."""
    number = 0
    for _ in range(count):
        kind = rng.integers(10)
        n = 1 if kind < 6 else int(rng.integers(2, 41))
        numbers = number + 1 + np.arange(n)
        number += n
        data = bytearray(encode_records(numbers, 7 * numbers, 0, rng.integers(-(2**31), 2**31, (n, 6))))
        if kind == 9:
            data = bytearray(encode_request(Request(rdt.Command.REALTIME)))
        match rng.integers(5):
            case 0:
                del data[int(rng.integers(len(data) + 1)) :]
            case 1:
                data += rng.bytes(int(rng.integers(1, 100)))
            case 2:
                for place in rng.integers(0, len(data), rng.integers(1, 9)):
                    data[place] ^= 1 << int(rng.integers(8))
            case 3:
                data = bytearray(rng.bytes(int(rng.integers(0, 1501))))
            case _:
                pass
        yield bytes(data)


def spent_ns(intake: Intake, datagram: bytes, stamp_ns: int) -> int:
    """Processor time to take one datagram."""
    start_ns = time.thread_time_ns()
    intake.take(Arrivals([datagram], [stamp_ns]))
    return time.thread_time_ns() - start_ns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    clock = HostClock()
    # Two of a kind do the same work: what is slow in both is our doing, what is slow in one is the machine's.
    intake, twin = (Intake(WrenchBuffer(1 << 12), clock, 60_000_000) for _ in range(2))
    decoded = refused = 0
    slowest_ns = 0
    grown_from = 0
    gc.freeze()  # so that no datagram pays for walking through the libraries
    began = time.monotonic()
    for i, datagram in enumerate(hostile(np.random.default_rng(arguments.seed), arguments.count)):
        for decode in (decode_records, decode_request):
            try:
                decode(datagram)
                decoded += 1
            except Malformed:
                refused += 1
        stamp_ns = time.time_ns()
        slowest_ns = max(slowest_ns, min(spent_ns(copy, datagram, stamp_ns) for copy in (intake, twin)))
        if i == arguments.count // 10:
            # Rings and caches are full by now.
            grown_from = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    intake.restart()
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - grown_from
    account = intake.sequencer.account
    consistent = account.received == account.delivered + account.duplicates + account.late + account.implausible
    print(f"{arguments.count} datagrams in {time.monotonic() - began:.0f} s: {decoded} decoded, {refused} malformed")
    print(f"the driver: {intake.malformed} malformed, {account}")
    print(
        f"slowest {slowest_ns / 1e6:.2f} ms (limit {LIMIT_MS} ms), grown by {grown_kib} KiB, consistent: {consistent}"
    )
    sys.exit(0 if slowest_ns < LIMIT_MS * 1e6 and grown_kib < 4096 and consistent else 1)


if __name__ == "__main__":
    main()
