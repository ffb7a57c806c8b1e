"""Object descriptions and a rig file to start from."""

from ident.workflow.plan import ROOT, Node, Plan

TEMPLATES = {
    "door": Plan(
        "door",
        (
            Node("hinge", "rotary"),
            Node("lever", "rotary", "hinge"),
            Node("grip", "handle2", "lever", 0.01),
        ),
    ),
    "drawer-cabinet": Plan(
        "cabinet",
        tuple(
            node
            for place in ("top", "middle", "bottom")
            for node in (
                Node(f"{place}_drawer", "prismatic", ROOT),
                Node(f"{place}_handle", "handle2", f"{place}_drawer", 0.0075),
            )
        ),
    ),
    "cupboard": Plan("cupboard", (Node("hinge", "rotary"), Node("knob", "handle1", "hinge", 0.015))),
    "dishwasher": Plan(
        "dishwasher",
        (
            Node("flap", "rotary"),
            Node("bar", "handle2", "flap", 0.01),
            Node("upper_rack", "prismatic"),
            Node("lower_rack", "prismatic"),
        ),
    ),
    "find-out": Plan("object", (Node("joint1", "auto"), Node("handle1", "handle2", "joint1", 0.01))),
}
"""Plans by the name under which ``ident new --template`` writes them."""

RIG = """\
name = "lab"
# Which way is down, in the world frame of the cameras, m/s². Motive's default has y up: [0.0, -9.80665, 0.0]
gravity = [0.0, 0.0, -9.80665]

[mocap]
server = "192.168.1.10"          # the computer that runs Motive
# multicast = "239.255.42.99"    # leave out for unicast
# interface = "192.168.1.20"     # this computer's address on that network
body = "gripper"                 # name of the rigid body in Motive
# reference = "object"           # a second body, fixed to the object, in whose frame to measure

[ft]                             # leave the table out if there is no force/torque sensor
driver = "netft"
host = "192.168.1.1"

# [trigger]                      # a button on the gripper, or a pedal
# port = "/dev/ttyACM0"
# kind = "bytes"                 # a microcontroller's messages; cts or dsr for a switch on the port's own lines

# [quality]                      # what a good take has, and what no take shows of itself
# axis_std_deg = 0.42
# position_std_mm = 2.0
# distortion_mm = 0.1            # smooth bend of the tracked volume, rms per axis
# play_mm = 0.15                 # slow play of a firm grip, rms per axis
# play_deg = 0.1
# seat_mm = 0.3                  # how a bar sits in the groove; more where bars of other diameters sit deeper
"""
