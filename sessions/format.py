"""How samples become messages: ROS 2 types in CDR for numbers, JSON for everything a person wrote or decided.

Numeric messages of one channel all have the same length, so a batch of them is one NumPy array of a packed
structured type, record heads included. Writing and reading cost a fraction of a microsecond a message that
way. The page ``docs/session-format.md`` describes the result for other people's software.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from devices.samples import PoseSample, WrenchSample
from sessions import records
from sessions.errors import SessionError

VERSION = 1
"""Of the format described here; a reader refuses sessions of a higher one."""

SESSION_METADATA = "ident.session"
"""Name of the MCAP metadata record that makes a file a session; its values are JSON."""

EVENTS, DOCUMENTS, TAKES = "/events", "/documents", "/takes"
PRESSES, DEVICE_EVENTS = "/presses", "/device_events"
WRENCH, WRENCH_STATUS = "/wrench", "/wrench/status"
POSES, RAW = "/poses/", "/raw/"
TRACKING_SUFFIX = "/tracking"
"""Behind the topic of a body's poses: what else is known about each of them."""
WORLD, SENSOR = "world", "ft_sensor"
"""``frame_id`` of poses and of wrenches."""

_SEPARATOR = "=" * 80 + "\n"
_HEADER = "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n"
_TIME = "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec\n"
_POINT = "MSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z\n"
_QUATERNION = "MSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n"
_VECTOR = "MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n"
_POSE = "MSG: geometry_msgs/Pose\nPoint position\nQuaternion orientation\n"
_WRENCH = "MSG: geometry_msgs/Wrench\nVector3 force\nVector3 torque\n"

POSE_SCHEMA, WRENCH_SCHEMA, TRACKING_SCHEMA, STATUS_SCHEMA = 1, 2, 3, 4
SCHEMAS: dict[int, tuple[str, str]] = {
    POSE_SCHEMA: (
        "geometry_msgs/msg/PoseStamped",
        _SEPARATOR.join(
            ["std_msgs/Header header\ngeometry_msgs/Pose pose\n", _HEADER, _TIME, _POSE, _POINT, _QUATERNION]
        ),
    ),
    WRENCH_SCHEMA: (
        "geometry_msgs/msg/WrenchStamped",
        _SEPARATOR.join(["std_msgs/Header header\ngeometry_msgs/Wrench wrench\n", _HEADER, _TIME, _WRENCH, _VECTOR]),
    ),
    TRACKING_SCHEMA: (
        "ident_msgs/msg/Tracking",
        (
            "# About the pose of the same time and sequence.\n"
            "int64 sequence  # frame number given by the device\n"
            "uint64 ticks  # device clock at mid-exposure, 0 where unknown\n"
            "float64 mean_error  # mean marker error, metres\n"
            "uint8 state  # 0 measured, 1 untracked, 2 frozen, 3 inaccurate\n"
        ),
    ),
    STATUS_SCHEMA: (
        "ident_msgs/msg/WrenchStatus",
        (
            "# About the wrench of the same time and sequence.\n"
            "int64 sequence  # sample counter of the device\n"
            "uint32 status  # status word as received\n"
            "bool valid  # false where the values cannot be trusted\n"
        ),
    ),
}
"""Identifier → (name, ros2msg definition)."""


def _cdr(fields: Sequence[tuple[str, str, int]], size: int) -> np.dtype[Any]:
    """A CDR body: ``fields`` are (name, type, offset after the four bytes of encapsulation)."""
    return np.dtype(
        {
            "names": ["encapsulation", *(name for name, _, _ in fields)],
            "formats": ["<u4", *(kind for _, kind, _ in fields)],
            "offsets": [0, *(4 + offset for _, _, offset in fields)],
            "itemsize": 4 + size,
        }
    )


def _stamped(frame_id: str, fields: Sequence[tuple[str, str]]) -> np.dtype[Any]:
    """A message that starts with a ``std_msgs/Header`` and goes on with float64 arrays."""
    length = len(frame_id.encode()) + 1
    head = [("sec", "<i4", 0), ("nanosec", "<u4", 4), ("frame_length", "<u4", 8), ("frame", f"S{length}", 12)]
    offset = -(-(12 + length) // 8) * 8
    for name, kind in fields:
        head.append((name, kind, offset))
        offset += np.dtype(kind).itemsize
    return _cdr(head, offset)


POSE = _stamped(WORLD, [("position", "(3,)<f8"), ("quaternion", "(4,)<f8")])
WRENCH_BODY = _stamped(SENSOR, [("wrench", "(6,)<f8")])
TRACKING = _cdr([("sequence", "<i8", 0), ("ticks", "<u8", 8), ("mean_error", "<f8", 16), ("state", "u1", 24)], 25)
STATUS = _cdr([("sequence", "<i8", 0), ("status", "<u4", 8), ("valid", "?", 12)], 13)

_LITTLE_ENDIAN_CDR = 0x00000100
"""The bytes 00 01 00 00 read as a little-endian integer."""


MESSAGE_HEAD = np.dtype(
    [
        ("opcode", "u1"),
        ("length", "<u8"),
        ("channel", "<u2"),
        ("sequence", "<u4"),
        ("log_time", "<u8"),
        ("publish_time", "<u8"),
    ]
)
"""What precedes the body in an MCAP message record, packed."""


def new_messages(
    body: np.dtype[Any], channel: int, t_ns: NDArray[np.int64], sequence: Any, received_ns: Any
) -> NDArray[Any]:
    """Message records with their heads filled and their bodies still zero."""
    if t_ns.min(initial=0) < 0:
        raise SessionError(f"A time of {t_ns.min()} ns lies before 1970; check the host clock.")
    kind = np.dtype([*MESSAGE_HEAD.descr, ("body", body)])
    batch = np.zeros(len(t_ns), kind)
    batch["opcode"] = records.MESSAGE
    batch["length"] = kind.itemsize - records.RECORD_HEAD.size
    batch["channel"] = channel
    batch["sequence"] = np.asarray(sequence, dtype=np.int64) & 0xFFFFFFFF
    batch["log_time"] = t_ns
    batch["publish_time"] = received_ns
    if body.names and "encapsulation" in body.names:
        batch["body"]["encapsulation"] = _LITTLE_ENDIAN_CDR
    return batch


def _stamp(body: NDArray[Any], t_ns: NDArray[np.int64], frame_id: str) -> None:
    body["sec"], body["nanosec"] = np.divmod(t_ns, 1_000_000_000)
    body["frame_length"] = len(frame_id.encode()) + 1
    body["frame"] = frame_id.encode()


def pose_messages(
    samples: Sequence[PoseSample], pose_channel: int, tracking_channel: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Poses of one body as ``PoseStamped`` records and, row for row, their ``Tracking`` records."""
    t_ns = np.array([s.t_ns for s in samples], dtype=np.int64)
    received = np.array([s.received_ns for s in samples], dtype=np.int64)
    sequence = np.array([s.sequence for s in samples], dtype=np.int64)
    poses = new_messages(POSE, pose_channel, t_ns, sequence, received)
    body = poses["body"]
    _stamp(body, t_ns, WORLD)
    body["position"] = [s.position for s in samples]
    body["quaternion"] = [s.quaternion for s in samples]
    tracking = new_messages(TRACKING, tracking_channel, t_ns, sequence, received)
    body = tracking["body"]
    body["sequence"] = sequence
    body["ticks"] = [s.ticks for s in samples]
    body["mean_error"] = [s.mean_error for s in samples]
    body["state"] = [s.state for s in samples]
    return poses, tracking


class WrenchBatch:
    """Wrenches as columns: what a fast driver hands over in one call."""

    __slots__ = ("received_ns", "sequence", "status", "t_ns", "valid", "wrench")
    _ORDER = ("t_ns", "sequence", "wrench", "status", "valid", "received_ns")

    def __init__(self, t_ns: Any, sequence: Any, wrench: Any, status: Any, valid: Any, received_ns: Any) -> None:
        """Take copies, since the caller may go on writing into its arrays.

        ``t_ns``, ``sequence``, ``status``, ``valid``, ``received_ns`` (n,); ``wrench`` (n, 6), force in N
        then torque in N m, in the sensor's frame.
        """
        self.t_ns = np.array(t_ns, dtype=np.int64)
        shape = self.t_ns.shape
        self.sequence = np.array(np.broadcast_to(sequence, shape), dtype=np.int64)
        self.wrench = np.array(wrench, dtype=np.float64).reshape(len(self.t_ns), 6)
        self.status = np.array(np.broadcast_to(status, shape)).astype(np.uint32)
        self.valid = np.array(np.broadcast_to(valid, shape), dtype=bool)
        self.received_ns = np.array(np.broadcast_to(received_ns, shape), dtype=np.int64)

    @classmethod
    def of(cls, samples: Sequence[WrenchSample]) -> "WrenchBatch":
        """Columns of single samples."""
        return cls(
            [s.t_ns for s in samples],
            [s.sequence for s in samples],
            [(*s.force, *s.torque) for s in samples],
            [s.status for s in samples],
            [s.valid for s in samples],
            [s.received_ns for s in samples],
        )

    @classmethod
    def joined(cls, batches: Sequence["WrenchBatch"]) -> "WrenchBatch":
        """All rows in one batch."""
        if not batches:
            return cls.of([])
        return cls(*(np.concatenate([getattr(b, name) for b in batches]) for name in cls._ORDER))

    def __len__(self) -> int:
        return len(self.t_ns)

    def messages(self, wrench_channel: int, status_channel: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """``WrenchStamped`` records and, row for row, their ``WrenchStatus`` records."""
        wrenches = new_messages(WRENCH_BODY, wrench_channel, self.t_ns, self.sequence, self.received_ns)
        _stamp(wrenches["body"], self.t_ns, SENSOR)
        wrenches["body"]["wrench"] = self.wrench
        status = new_messages(STATUS, status_channel, self.t_ns, self.sequence, self.received_ns)
        status["body"]["sequence"] = self.sequence
        status["body"]["status"] = self.status
        status["body"]["valid"] = self.valid
        return wrenches, status


def topic_of_body(body: str) -> str:
    """A topic that ROS accepts for a rigid body of any name; the name itself is in the channel's metadata."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", body)
    return POSES + (name if name and not name[0].isdigit() else "_" + name)


def index_entries(log_times: NDArray[np.uint64], offset: int, stride: int) -> NDArray[Any]:
    """Entries of a message index, log time (ns) and place in the chunk, for records of equal size."""
    table = np.empty(len(log_times), [("log_time", "<u8"), ("offset", "<u8")])
    table["log_time"] = log_times
    table["offset"] = offset + stride * np.arange(len(log_times), dtype=np.uint64)
    return table


def datagram_messages(channel: int, datagrams: Sequence[tuple[int, bytes]], first: int) -> list[NDArray[Any]]:
    """Raw datagrams as message records, byte for byte, in their order; ``first`` is the sequence of the
    first.

    Neighbours of equal length make one array; an empty datagram is an empty body.
    """
    batches = []
    start = 0
    lengths = [len(data) for _, data in datagrams]
    for stop in range(1, len(datagrams) + 1):
        if stop < len(datagrams) and lengths[stop] == lengths[start]:
            continue
        run = datagrams[start:stop]
        t_ns = np.array([t for t, _ in run], dtype=np.int64)
        body = np.dtype((np.void, lengths[start]))
        batch = new_messages(body, channel, t_ns, np.arange(first + start, first + stop), t_ns)
        if lengths[start]:
            batch["body"] = np.frombuffer(b"".join(data for _, data in run), body)
        batches.append(batch)
        start = stop
    return batches
