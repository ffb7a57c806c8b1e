"""List the motion-capture servers and force/torque sensors that answer on the network.

Motive is looked for on every network that this computer is on, or on the one of `--interface`. Net F/T boxes
do not answer broadcasts: they are asked one by one, at the addresses given with `--address` and, with
`--interface`, on that card's own network.

examples:
  ident find
  ident find --interface 192.168.1.20 --address 192.168.1.1
"""

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--interface", default="", help="address of the network card to search on (default: all)")
    parser.add_argument(
        "--address", action="append", default=[], metavar="HOST", help="a computer or sensor to ask; may be repeated"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="how long to wait for answers (default: 1)")
    parser.add_argument("--command-port", type=int, default=1510, help="command port of Motive (default: 1510)")


def run(args: argparse.Namespace) -> int:
    """Ask, wait, print."""
    from devices.natnet.discovery import discover as discover_mocap
    from devices.netft import discover as discover_ft

    addresses = tuple(args.address)
    servers = discover_mocap(args.seconds, args.interface, addresses=addresses, command_port=args.command_port)
    for server in servers:
        how = f"multicast {server.multicast}" if server.multicast else "unicast"
        version = ".".join(map(str, server.version))
        print(f"mocap  {server.address:<16} {server.name}, NatNet {version}, {how}")
    sensors = discover_ft(addresses, interface=args.interface, timeout_s=args.seconds)
    for sensor in sensors:
        print(f"ft     {sensor.host:<16} {sensor.product_name} {sensor.serial}".rstrip())
    if not servers and not sensors:
        print("Nothing answered. Is Motive streaming, and is this computer on its network? Try --address HOST.")
        return 1
    return 0
