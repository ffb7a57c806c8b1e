"""Run a simulated rig alone: ``python -m devices.sim --object door --seed 1``.

Prints one JSON line with its endpoints when it is ready, and serves until SIGTERM, SIGINT or, with ``--lifeline``,
until standard input closes (as it does when the starting program dies, however it dies).
"""

import argparse
import json
import os
import signal
import sys
import threading
from dataclasses import replace

from devices.errors import DeviceError
from devices.sim.options import add_arguments, config_from
from devices.sim.simulation import Simulation


def main() -> int:
    """Serve until told to stop."""
    parser = argparse.ArgumentParser(prog="python -m devices.sim", description=__doc__)
    add_arguments(parser)
    parser.add_argument("--lifeline", action="store_true", help="stop when standard input closes")
    parser.add_argument("--movements-before", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--configuration", type=json.loads, default={}, help=argparse.SUPPRESS)
    args = parser.parse_args()
    try:
        config = replace(config_from(args), movements_before=args.movements_before, q=args.configuration)
        simulation = Simulation(config)
    except DeviceError as error:
        print(error, file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: simulation.stop())
    # Ctrl-C reaches the whole process group; a program that holds the lifeline decides when its rig ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN if args.lifeline else lambda *_: simulation.stop())
    if args.lifeline:
        threading.Thread(target=_watch_stdin, args=(simulation,), daemon=True).start()
    print(json.dumps(simulation.endpoints), flush=True)
    simulation.run()
    return 0


def _watch_stdin(simulation: Simulation) -> None:
    while os.read(0, 4096):
        pass
    simulation.stop()


if __name__ == "__main__":
    sys.exit(main())
