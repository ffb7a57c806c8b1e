"""ROS bags of either generation: poses, transforms and wrenches with a time."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from devices.buffer import WrenchWindow
from sessions.errors import SessionError
from sessions.imports.recording import Recording, pose_window

_POSE = "geometry_msgs/msg/PoseStamped"
_COVARIANT = ("geometry_msgs/msg/PoseWithCovarianceStamped", "nav_msgs/msg/Odometry")
_TRANSFORM = "geometry_msgs/msg/TransformStamped"
_WRENCH = "geometry_msgs/msg/WrenchStamped"
_TF = ("tf2_msgs/msg/TFMessage", "tf/msg/tfMessage")
_Row = tuple[int, tuple[float, ...]]


def read(path: Path) -> Recording:
    """Read a bag: a ``.bag``, ``.db3`` or ``.mcap`` file, or a folder of ROS 2.

    A ``PoseStamped`` topic (or one with covariance, or of odometry) becomes a body named after the topic, a TF or
    ``TransformStamped`` a body named after its child frame.
    """
    try:
        from rosbags.highlevel import AnyReader
        from rosbags.typesys import Stores, get_typestore
    except ImportError as error:
        raise SessionError("Reading ROS bags needs rosbags. Install it with `pip install 'ident[ros]'`.") from error
    if not path.exists():
        raise SessionError(f"Cannot read {path}: there is no such file or folder.")
    source = path.parent if path.suffix == ".db3" and (path.parent / "metadata.yaml").exists() else path
    try:
        with AnyReader([source], default_typestore=get_typestore(Stores.ROS2_HUMBLE)) as bag:
            return _collect(path, bag)
    except SessionError:
        raise
    except Exception as error:
        raise SessionError(f"{path} cannot be read as a ROS bag: {error}") from error


def _collect(path: Path, bag: Any) -> Recording:
    poses: defaultdict[str, list[_Row]] = defaultdict(list)
    wrenches: defaultdict[str, list[_Row]] = defaultdict(list)
    wanted = [c for c in bag.connections if c.msgtype in (_POSE, *_COVARIANT, _TRANSFORM, _WRENCH, *_TF)]
    for connection, logged_ns, raw in bag.messages(wanted) if wanted else ():
        message = bag.deserialize(raw, connection.msgtype)
        if connection.msgtype == _POSE:
            poses[connection.topic].append((_time(message, logged_ns), _pose(message.pose)))
        elif connection.msgtype in _COVARIANT:
            poses[connection.topic].append((_time(message, logged_ns), _pose(message.pose.pose)))
        elif connection.msgtype == _WRENCH:
            wrenches[connection.topic].append((_time(message, logged_ns), _wrench(message.wrench)))
        else:
            entries = [message] if connection.msgtype == _TRANSFORM else message.transforms
            for child, row in _transforms(entries, logged_ns):
                poses[child].append(row)
    if not poses and not wrenches:
        kinds = ", ".join(sorted({c.msgtype for c in bag.connections})) or "no messages"
        raise SessionError(f"{path} holds no poses, transforms or wrenches (it has: {kinds}).")
    notes = []
    if len(wrenches) > 1:
        notes.append(f"Only the wrenches of {next(iter(wrenches))} were taken, not those of {list(wrenches)[1:]}.")
    recording = Recording({}, notes=notes, metadata={"kind": "ROS bag", "topics": sorted(c.topic for c in wanted)})
    for name, rows in poses.items():
        t_ns, values = _columns(rows)
        body = _body_name(name, poses)
        recording.bodies[body] = pose_window(body, t_ns, values[:, :3], values[:, 3:])
    if wrenches:
        t_ns, values = _columns(next(iter(wrenches.values())))
        n = len(t_ns)
        recording.wrench = WrenchWindow(
            t_ns, values, np.isfinite(values).all(axis=1), np.zeros(n, np.int64), np.arange(n), t_ns
        )
    return recording


def _body_name(source: str, every: dict[str, list[_Row]]) -> str:
    """The last part of a topic that tells it from the others; frames keep their name."""
    generic = ("pose", "pose_stamped")
    parts = [part for part in source.split("/") if part]
    short = next((part for part in reversed(parts) if part not in generic), source)
    clashes = sum(short in other.split("/") for other in every)
    return short if clashes == 1 else source


def _columns(rows: list[_Row]) -> tuple[Any, Any]:
    rows = sorted(rows, key=lambda row: row[0])
    return np.array([t for t, _ in rows], dtype=np.int64), np.array([values for _, values in rows], dtype=float)


def _time(message: Any, logged_ns: int) -> int:
    """The header's stamp where it has one, else the time of logging; ns."""
    stamp = message.header.stamp
    told = int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)
    return told if told > 0 else int(logged_ns)


def _pose(pose: Any) -> tuple[float, ...]:
    at, turn = pose.position, pose.orientation
    return (at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w)


def _wrench(wrench: Any) -> tuple[float, ...]:
    force, torque = wrench.force, wrench.torque
    return (force.x, force.y, force.z, torque.x, torque.y, torque.z)


def _transforms(entries: Sequence[Any], logged_ns: int) -> Iterator[tuple[str, _Row]]:
    for entry in entries:
        at, turn = entry.transform.translation, entry.transform.rotation
        values = (at.x, at.y, at.z, turn.x, turn.y, turn.z, turn.w)
        yield entry.child_frame_id, (_time(entry, logged_ns), values)
