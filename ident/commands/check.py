"""Say in one table what each device of a rig is doing, and what to do about what is wrong.

The rig is a file (see `ident new --rig`), or `sim` for a simulated one that is started for the purpose.
The exit status is 0 only if every device delivers good samples.

examples:
  ident check --rig rig.toml
  ident check --rig sim
"""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--rig", required=True, help="rig file, or `sim`")
    parser.add_argument("--seconds", type=float, default=1.5, help="how long to listen before judging (default: 1.5)")


def run(args: argparse.Namespace) -> int:
    """Open the rig, listen, print the table."""
    import time

    from devices.clock import HostClock
    from ident.errors import IdentError
    from ident.rig import Rig
    from ident.rigs import open_rig_config
    from ident.ui.table import status_text

    if not 0.2 <= args.seconds <= 600.0:
        raise IdentError(f"--seconds {args.seconds:g} is out of range; choose 0.2 to 600.")
    with open_rig_config(args.rig) as (config, _), Rig(config, HostClock()) as rig:
        time.sleep(args.seconds)
        statuses = rig.check()
    print(status_text(statuses))
    return 1 if any(status.problem for status in statuses) else 0
