"""Run the simulated rig alone, for another terminal, another program or another computer to connect to.

It answers as OptiTrack Motive (NatNet) and an ATI Net F/T box (RDT, netftapi2.xml) do. Once it runs, it prints
a rig file for `ident run --rig`, and these keys move the gripper:

  1 2 3 …   choose a joint or handle
  Enter     sweep it, from one end to the other
  u  d      bring the joint to its upper end, or down to its lower end, and hold it there
  t         turn the gripper about its tip, where it is
  c  v      turn it on the calibration bar: about its screws, about the bar
  w         free movement with pauses, for weighing the gripper
  q         quit

Without a terminal on standard input, it serves until it is ended.

examples:
  ident sim --object cabinet
  ident sim --host 0.0.0.0 --natnet-version 3.0 --multicast
"""

import argparse
from pathlib import Path

_NATNET_COMMAND, _NATNET_DATA, _RDT, _HTTP = 1510, 1511, 49152, 8080


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options: those of the rig, with the ports that real devices use."""
    from devices.sim.options import add_arguments as add_rig_arguments

    add_rig_arguments(parser)
    parser.set_defaults(command_port=_NATNET_COMMAND, data_port=_NATNET_DATA, rdt_port=_RDT, http_port=_HTTP)
    parser.add_argument("--any-ports", action="store_true", help="use free ports instead of those of real devices")
    parser.add_argument("--write-rig", type=Path, metavar="FILE", help="also write the rig file")


def run(args: argparse.Namespace) -> int:
    """Serve until the operator quits."""
    from devices.sim.options import config_from
    from devices.sim.simulation import Simulation
    from ident.sim_console import SimConsole

    if args.any_ports:
        args.command_port = args.data_port = args.rdt_port = args.http_port = 0
    return SimConsole(Simulation(config_from(args))).run(args.write_rig)
