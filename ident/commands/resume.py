"""Go on with an interrupted session at the step where it stopped.

Every finished take is there again. A take that was running when the program ended is kept in the session, but
has to be made anew. The session goes on in a new part beside the first file.

examples:
  ident resume ~/ident/sessions/2026-05-04_101500_door.mcap
  ident resume door.mcap --rig rig.toml
"""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("session", type=Path, help="session file")
    parser.add_argument("--rig", help="rig file, or `sim` (default: as recorded)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results (default: out)")


def run(args: argparse.Namespace) -> int:
    """Restore the state and run the workflow from there."""
    from ident.guided import guide
    from ident.resume import recorded_rig, restore
    from ident.rigs import SIMULATED, open_rig_config

    session, state, data = restore(args.session)
    scene = session.metadata.get("scene")
    speed = float(session.metadata.get("speed", 1.0))
    rig = args.rig or (SIMULATED if scene else None)
    if rig is None:
        return guide(
            recorded_rig(session),
            None,
            sim=None,
            speed=1.0,
            folder=args.out,
            session=args.session,
            resume=(state, data),
        )
    seed = int(session.metadata.get("seed", 1))
    with open_rig_config(rig, scene=str(scene or "door"), seed=seed, speed=speed) as (config, sim):
        return guide(config, None, sim=sim, speed=speed, folder=args.out, session=args.session, resume=(state, data))
