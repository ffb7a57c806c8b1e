"""The simulated rig's options on a command line, for every command that starts one."""

import argparse
from pathlib import Path

from devices.errors import DeviceError
from devices.sim.disturbances import Disturbances
from devices.sim.scene_file import shipped_scenes
from devices.sim.simulation import SimulationConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The rig's options, for this command and for others that start one."""
    default = SimulationConfig()
    parser.add_argument(
        "--object", default=default.object, help=f"{', '.join(shipped_scenes())}, or the path of a scene file"
    )
    parser.add_argument("--seed", type=int, default=default.seed, help="the same seed gives the same measurements")
    parser.add_argument("--speed", type=float, default=default.speed, help="how many times faster than real time")
    parser.add_argument("--natnet-version", default="4.1", metavar="M.m", help="2.7 to 4.2 (default: 4.1)")
    parser.add_argument("--multicast", action="store_true", help="stream frames to 239.255.42.99")
    parser.add_argument("--mocap-hz", type=int, default=default.mocap_hz, help="frames per second")
    parser.add_argument("--ft-hz", type=int, default=default.ft_hz, help="force/torque records per second")
    parser.add_argument("--reference", action="store_true", help="a second body, object, fixed to the object's root")
    parser.add_argument("--extra-bodies", type=int, default=0, metavar="N", help="bodies that stand around")
    parser.add_argument("--torque-unit", choices=("Nm", "N-mm"), default="Nm", help="unit of the sensor's torque")
    parser.add_argument("--host", default=default.host, help="address to serve on (control stays on loopback)")
    for name in ("command", "data", "rdt", "http", "control"):
        parser.add_argument(f"--{name}-port", type=int, default=0, metavar="PORT", help="0 takes a free one")
    parser.add_argument("--disturbances", type=Path, metavar="FILE", help="TOML file with sizes of disturbances")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="size of one disturbance; see docs/simulation.md",
    )
    parser.add_argument("--ideal", action="store_true", help="no disturbances but those set")


def config_from(args: argparse.Namespace) -> SimulationConfig:
    """The configuration that the options say."""
    disturbances = Disturbances.none() if args.ideal else Disturbances()
    if args.disturbances is not None:
        disturbances = Disturbances.from_file(args.disturbances, disturbances)
    disturbances = Disturbances.from_table(dict(_setting(text) for text in args.set), disturbances)
    major, _, minor = args.natnet_version.partition(".")
    if not (major.isdigit() and minor.isdigit()):
        raise DeviceError(f"NatNet version {args.natnet_version!r} is not of the form 4.1.")
    return SimulationConfig(
        object=args.object,
        seed=args.seed,
        speed=args.speed,
        natnet_version=(int(major), int(minor)),
        multicast=args.multicast,
        mocap_hz=args.mocap_hz,
        ft_hz=args.ft_hz,
        reference=args.reference,
        extra_bodies=args.extra_bodies,
        torque_unit=args.torque_unit,
        host=args.host,
        command_port=args.command_port,
        data_port=args.data_port,
        rdt_port=args.rdt_port,
        http_port=args.http_port,
        control_port=args.control_port,
        disturbances=disturbances,
    )


def _setting(text: str) -> tuple[str, float | bool]:
    name, _, value = text.partition("=")
    if value in ("true", "false"):
        return name, value == "true"
    try:
        return name, float(value)
    except ValueError:
        raise DeviceError(f"--set {text!r} is not of the form name=number.") from None
