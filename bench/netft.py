"""Which client to read a Net F/T sensor with: our own driver against pynetft, on the same simulated stream.

    python -m bench.netft [--rate 7000] [--seconds 10]

For each client, in an idle process and in one whose interpreter is busy: samples delivered and lost, how late
the receive stamp is after the moment of sending (written into each record), and the processor time used.
"""

import argparse
import math
import multiprocessing
import resource
import socket
import struct
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pynetft

from devices.clock import HostClock
from devices.netft import NetFT, NetFTConfig, SensorCalibration, decode_request, rdt, render_api

CALIBRATION = SensorCalibration(1e6, 1e6, product_name="Net F/T", serial="bench")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = render_api(CALIBRATION)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def send(rate: float, ports: "multiprocessing.Queue[tuple[int, int, int]]") -> None:
    """A sensor that writes wall and monotonic time of sending into the counts of each record."""
    http = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("127.0.0.1", 0))
    ports.put((sock.getsockname()[1], http.server_port, 0))
    pack = struct.Struct(">IIIqqq").pack
    while True:
        sock.settimeout(None)
        datagram, client = sock.recvfrom(64)
        if decode_request(datagram).command == rdt.Command.STOP:
            continue
        sock.setblocking(False)
        began = time.monotonic()
        sent = 0
        while True:
            try:
                if decode_request(sock.recv(64)).command == rdt.Command.STOP:
                    break
            except BlockingIOError:
                pass
            due = math.floor((time.monotonic() - began) * rate)
            while sent < due:
                sent += 1
                sock.sendto(pack(sent, sent, 0, time.time_ns(), time.monotonic_ns(), sent), client)
            time.sleep(0.0004)
        ports.put((sent, 0, 0))


def burn(ended: threading.Event) -> None:
    """Hold the interpreter as redrawing does."""
    while not ended.is_set():
        sum(range(200_000))
        time.sleep(0.005)


def report(name: str, sent: int, delivered: int, lost: int, late_ns: np.ndarray, cpu_s: float, seconds: float) -> None:
    p50, p99, worst = np.percentile(late_ns, [50, 99, 100]) / 1e6
    print(
        f"{name:22s} sent {sent:7d}  delivered {delivered:7d}  counted lost {lost:4d}  "
        f"stamp late by {p50:6.3f} / {p99:6.3f} / {worst:6.3f} ms (p50/p99/max)  "
        f"processor {100 * cpu_s / seconds:5.1f} %"
    )


def own(ports: tuple[int, int], seconds: float) -> tuple[int, int, np.ndarray]:
    clock = HostClock()
    wall_ns = clock.now_ns() - time.time_ns()
    late: list[int] = []

    def tap(_stream: str, t_ns: int, datagram: bytes) -> None:
        late.append(t_ns - wall_ns - struct.unpack_from(">q", datagram, 12)[0])

    with NetFT(NetFTConfig("127.0.0.1", *ports), clock, tap=tap) as sensor:
        sensor.wait_ready(5)
        time.sleep(seconds)
        sensor.stop()
        health = sensor.health()
    return health.account.delivered, health.account.lost + health.kernel_drops, np.array(late)


def theirs(ports: tuple[int, int], seconds: float) -> tuple[int, int, np.ndarray]:
    late: list[int] = []

    def take(sample: pynetft.Sample) -> None:
        words = struct.unpack(">qqq", struct.pack(">6i", *sample.raw_wrench))
        late.append(sample.received_at_ns - words[1])

    config = pynetft.Config("127.0.0.1", *ports, deliver_samples_with_error_status=True)
    with pynetft.Client(config, queue_size=65536, callback=take) as client:
        client.wait_for_first_sample(5)
        time.sleep(seconds)
        health = client.health()
    return len(late), health.lost_count + health.python_queue_dropped_count, np.array(late)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=7000.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[tuple[int, int, int]] = context.Queue()
    sensor = context.Process(target=send, args=(arguments.rate, queue), daemon=True)
    sensor.start()
    rdt_port, http_port, _ = queue.get(timeout=20)
    clients: dict[str, Callable[[tuple[int, int], float], tuple[int, int, np.ndarray]]] = {
        "own": own,
        "pynetft": theirs,
    }
    try:
        for busy in (False, True):
            for name, client in clients.items():
                ended = threading.Event()
                load = threading.Thread(target=burn, args=(ended,))
                if busy:
                    load.start()
                before = resource.getrusage(resource.RUSAGE_SELF)
                delivered, lost, late_ns = client((rdt_port, http_port), arguments.seconds)
                after = resource.getrusage(resource.RUSAGE_SELF)
                ended.set()
                if busy:
                    load.join()
                cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                sent, _, _ = queue.get(timeout=10)
                label = f"{name}{', busy process' if busy else ''}"
                report(label, sent, delivered, lost, late_ns, cpu_s, arguments.seconds)
    finally:
        sensor.terminate()
        sensor.join()


if __name__ == "__main__":
    main()
