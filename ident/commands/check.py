"""Say in one table what each device of a rig is doing, and what to do about what is wrong.

The rig is a file (see `ident new --rig`), or `sim` for a simulated one that is started for the purpose.
The exit status is 0 only if every device delivers good samples.

With `--latency`, hit the table with the gripper twenty times while it listens. The constant offset between motion
capture and force/torque sensor is found from the knocks and stored in the rig file.

examples:
  ident check --rig rig.toml
  ident check --rig sim
  ident check --rig rig.toml --latency
"""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rig", required=True, help="rig file, or `sim`")
    parser.add_argument("--seconds", type=float, help="how long to listen (default: 1.5; 25 with --latency)")
    parser.add_argument("--latency", action="store_true", help="find the offset between the devices by knocking")


def run(args: argparse.Namespace) -> int:
    """Open the rig, listen, print the table."""
    import time

    from devices.clock import HostClock
    from ident.errors import IdentError
    from ident.rig import Rig
    from ident.rigs import SIMULATED, open_rig_config
    from ident.tap_test import store_latency, tap_test
    from ident.ui.table import status_text

    seconds = args.seconds if args.seconds is not None else (25.0 if args.latency else 1.5)
    if not 0.2 <= seconds <= 600.0:
        raise IdentError(f"--seconds {seconds:g} is out of range; choose 0.2 to 600.")
    with open_rig_config(args.rig) as (config, sim), Rig(config, HostClock()) as rig:
        if args.latency:
            found = tap_test(rig, seconds, sim)
        else:
            time.sleep(seconds)
        statuses = rig.check()
    print(status_text(statuses))
    if args.latency:
        # The knocks show what the latency that is known already leaves.
        latency_s = (config.ft.latency_s if config.ft else 0.0) - found.offset_ns * 1e-9
        print(
            f"Force/torque samples are {abs(latency_s) * 1e3:.2f} ± {found.sigma_ns * 1e-6:.2f} ms "
            f"{'later' if latency_s >= 0.0 else 'earlier'} than poses, by {found.taps} knocks."
        )
        if args.rig != SIMULATED:
            store_latency(Path(args.rig), latency_s)
            print(f"Stored in {args.rig}; the samples' times are set back by it from now on.")
    return 1 if any(status.problem for status in statuses) else 0
