"""Go on with an interrupted session at the step where it stopped.

Every finished take is there again. A take that was running when the program ended is kept in the session, but
has to be made anew. The session goes on in a new part beside the first file.

examples:
  ident resume ~/ident/sessions/2026-05-04_101500_door.mcap
  ident resume door.mcap --rig rig.toml
"""

import argparse
from pathlib import Path

from ident.commands.run import add_interface_arguments


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("session", type=Path, help="session file")
    parser.add_argument("--rig", help="rig file, or `sim` (default: as recorded)")
    add_interface_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Restore the state and run the workflow from there."""
    from ident.guided import Interface, Simulation, guide
    from ident.recorded import recorded_rig
    from ident.resume import restore
    from ident.rigs import SIMULATED, open_rig_config

    session, state, data = restore(args.session)
    interface = Interface(args.ui, args.plot, args.auto_end, args.recalibrate)
    scene = session.metadata.get("scene")
    rig = args.rig or (SIMULATED if scene else None)
    if rig is None:
        return guide(
            recorded_rig(session),
            state.plan,
            folder=args.out,
            interface=interface,
            session=args.session,
            resume=(state, data),
        )
    scene, seed = str(scene or "door"), int(session.metadata.get("seed", 1))
    speed = float(session.metadata.get("speed", 1.0))
    with open_rig_config(rig, scene=scene, seed=seed, speed=speed) as (config, sim):
        return guide(
            config,
            state.plan,
            folder=args.out,
            interface=interface,
            session=args.session,
            simulation=Simulation(sim, scene, seed, speed) if sim else None,
            resume=(state, data),
        )
