"""Identify an object step by step, with a person at the gripper.

The rig is a file with the addresses of the devices (see `ident new --rig`), or `sim`: a simulated one that
starts with the command and makes, during each take, the movement that the step asks for. That is the way to
try the workstation without hardware.

The object is described in a TOML file (see `ident new --template`) or by answering questions. With
`--rig sim`, the description of the simulated object is used unless another one is given.

Press Enter to start and to stop a take; `?` lists what else can be said. Everything is recorded in the session
from the first moment; after an interruption, `ident resume` goes on at the same step.

examples:
  ident run --rig sim
  ident run --rig sim --object cabinet --ui line
  ident run --rig rig.toml object.toml --out models/
"""

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("description", type=Path, nargs="?", help="object description (object.toml)")
    parser.add_argument("--rig", required=True, help="rig file, or `sim`")
    parser.add_argument(
        "--object",
        default="door",
        metavar="SCENE",
        help="with --rig sim: door, cabinet, testbench, or a scene file (default: door)",
    )
    parser.add_argument("--seed", type=int, default=1, help="with --rig sim: which movements are made (default: 1)")
    parser.add_argument("--speed", type=float, default=1.0, help="with --rig sim: times real time (default: 1)")
    parser.add_argument("--session", type=Path, help="session file (default: in the session folder, with the date)")
    add_interface_arguments(parser)


def add_interface_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `ident run` and `ident resume` share."""
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results (default: out)")
    parser.add_argument(
        "--ui",
        choices=("auto", "wizard", "line"),
        default="auto",
        help="the full-screen wizard, or plain lines for pipes and screen readers (default: what the terminal can do)",
    )
    parser.add_argument(
        "--plot",
        choices=("window", "png", "off"),
        default="off",
        help="live plot in a window, or refreshed in OUT/live.png (default: off)",
    )
    parser.add_argument("--recalibrate", action="store_true", help="measure tip and weight even if they are stored")
    parser.add_argument("--auto-end", action="store_true", help="end a take by itself once it is precise enough")


def run(args: argparse.Namespace) -> int:
    """Run one guided measurement."""
    from ident.description import load_description, plan_from_tables
    from ident.errors import IdentError
    from ident.guided import Interface, Simulation, guide
    from ident.rigs import SIMULATED, open_rig_config

    if args.rig != SIMULATED and args.speed != 1.0:
        raise IdentError("--speed is for --rig sim: real devices run in real time.")
    plan = load_description(args.description) if args.description else None
    with open_rig_config(args.rig, scene=args.object, seed=args.seed, speed=args.speed) as (config, sim):
        if plan is None and sim is not None:
            plan, _ = plan_from_tables(sim.description())
        return guide(
            config,
            plan,
            folder=args.out,
            interface=Interface(args.ui, args.plot, args.auto_end, args.recalibrate),
            session=args.session,
            simulation=Simulation(sim, args.object, args.seed, args.speed) if sim else None,
        )
