"""Recordings of other programs become sessions, or a message that says what is wrong with them."""

import random
import runpy
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from devices.samples import PoseState
from sessions import SessionError, open_session
from sessions.imports import import_recording, read_recording

STURM = Path(__file__).parents[2] / "../shared/data/sturm"


def motive_csv(
    *,
    version: str = "1.23",
    unit: str = "Meters",
    rotation: str = "Quaternion",
    separator: str = ",",
    kind: str = "Rigid Body",
) -> str:
    """An export of four frames at 100 Hz with two bodies; in the third frame the gripper is occluded."""
    width = 4 if rotation == "Quaternion" else 3
    axes = ["X", "Y", "Z", "W"][:width]
    label = version >= "1.24"
    header = [
        "Format Version", version, "Take Name", "Take 1", "Capture Frame Rate", "100.000000",
        "Capture Start Time", "2024-05-06 03.14.26.331 PM", "Rotation Type", rotation, "Length Units", unit,
        "Coordinate Space", "Global",
    ]  # fmt: skip
    columns = [
        (name, c, a)
        for name in ("gripper", "door frame")
        for c, a in [*(("Rotation", a) for a in axes), *(("Position", a) for a in "XYZ"), ("Mean Marker Error", "")]
    ]
    rows = [header, [], ["", "Type" if label else "", *(kind for _ in columns), *["Rigid Body Marker"] * 3]]
    rows.append(["", "Name" if label else "", *(name for name, _, _ in columns), *["gripper:Marker1"] * 3])
    rows.append(["", "ID" if label else "", *("1" for _ in columns), *["2"] * 3])
    if version >= "1.25":
        rows.append(["", "Parent", *("" for _ in columns), "", "", ""])
    rows.append(["", "", *(c for _, c, _ in columns), *["Position"] * 3])
    rows.append(["Frame", "Time (Seconds)", *(a for _, _, a in columns), "X", "Y", "Z"])
    scale = {"Meters": 1.0, "Millimeters": 1e3, "Centimeters": 100.0, "Feet": 1 / 0.3048}.get(unit, 1.0)
    turn = Rotation.from_euler("XYZ", [10, 20, 30], degrees=True)
    angles = turn.as_quat()
    if width == 3:
        order = rotation if set(rotation) == set("XYZ") else "XYZ"
        told = dict(zip(order, turn.as_euler(order, degrees=True), strict=True))
        angles = np.array([told[axis] for axis in "XYZ"])
    for frame in range(4):
        body = [*angles, *(scale * np.array([0.1 * frame, 1.0, -0.5])), scale * 0.0002]
        cells = [f"{value:.9f}" for value in body]
        hidden = [""] * len(cells) if frame == 2 else cells
        rows.append([str(frame), f"{frame / 100:.6f}", *hidden, *cells, "", "", ""])
    text = [
        [cell.replace(".", ",") if separator == ";" and i > 6 else cell for cell in row] for i, row in enumerate(rows)
    ]
    return "\r\n".join(separator.join(row) for row in text) + "\r\n"


@pytest.mark.parametrize("version", ["1.20", "1.21", "1.22", "1.23", "1.24", "1.25"])
@pytest.mark.parametrize("unit", ["Meters", "Millimeters", "Centimeters", "Feet"])
@pytest.mark.parametrize("rotation", ["Quaternion", "XYZ", "ZYX"])
def test_motive_exports(tmp_path: Path, version: str, unit: str, rotation: str) -> None:
    path = tmp_path / "take.csv"
    path.write_text("\ufeff" + motive_csv(version=version, unit=unit, rotation=rotation), encoding="utf-8")
    before = path.read_bytes()
    imported = import_recording(path, tmp_path / "take.mcap", body="gripper")
    assert path.read_bytes() == before
    assert (imported.bodies, imported.poses) == (("gripper",), 4)
    assert any("feet" in note for note in imported.notes) is (unit == "Feet")
    session = open_session(imported.path)
    poses = session.poses("gripper")
    assert poses.states.tolist() == [PoseState.MEASURED, PoseState.MEASURED, PoseState.UNTRACKED, PoseState.MEASURED]
    assert np.isnan(poses.positions[2]).all()
    np.testing.assert_allclose(poses.positions[3], [0.3, 1.0, -0.5], atol=1e-8)
    np.testing.assert_allclose(poses.mean_error[0], 0.0002, atol=1e-9)
    expected = Rotation.from_euler("XYZ", [10, 20, 30], degrees=True).as_matrix()
    np.testing.assert_allclose(poses.poses()[3, :3, :3], expected, atol=1e-7)
    np.testing.assert_allclose(np.diff(poses.t_ns), 10_000_000)
    take = session.take(1)
    assert (take.name, take.t0_ns, take.t1_ns) == ("take", poses.t_ns[0], poses.t_ns[3])


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
def test_euler_angles_in_each_order_give_one_orientation(tmp_path: Path, order: str) -> None:
    path = tmp_path / "take.csv"
    path.write_text(motive_csv(rotation=order))
    poses = read_recording(path).bodies["gripper"]
    expected = Rotation.from_euler("XYZ", [10, 20, 30], degrees=True).as_matrix()
    np.testing.assert_allclose(poses.poses()[[0, 1, 3], :3, :3], np.broadcast_to(expected, (3, 3, 3)), atol=1e-7)
    assert np.isnan(poses.quaternions[2]).all()


def _rearranged(rows: list[list[str]], places: list[int]) -> str:
    return "\r\n".join(",".join(f'"{row[i]}"' for i in places) if row else "" for row in rows)


@pytest.mark.parametrize("version", ["1.21", "1.24", "1.25"])
def test_columns_are_found_by_their_headers_wherever_they_stand(tmp_path: Path, version: str) -> None:
    lines = [line.split(",") for line in motive_csv(version=version).split("\r\n") if line]
    header, table = lines[0], lines[1:]
    width = len(table[0])
    # A time code, the markers first, the bodies' columns backwards (W before Z), everything quoted.
    axis_row = next(i for i, row in enumerate(table) if row[0] == "Frame")
    for i, row in enumerate(table):
        row.append("TimeCode" if i == axis_row else ("15:26:46:12.02" if i > axis_row else ""))
    places = [0, 1, width, *range(width - 3, width), *reversed(range(2, width - 3))]
    path = tmp_path / "take.csv"
    path.write_text(",".join(header) + "\r\n\r\n" + _rearranged(table, places) + "\r\n")
    straight = tmp_path / "straight.csv"
    straight.write_text(motive_csv(version=version))
    moved, kept = read_recording(path), read_recording(straight)
    assert set(moved.bodies) == set(kept.bodies)
    for name, body in kept.bodies.items():
        for column in ("t_ns", "positions", "quaternions", "states", "mean_error"):
            np.testing.assert_array_equal(getattr(moved.bodies[name], column), getattr(body, column))


def test_bones_unlabelled_markers_and_a_body_without_rotation(tmp_path: Path) -> None:
    path = tmp_path / "take.csv"
    rows = [
        "Format Version,1.22,Take Name,t,Capture Frame Rate,100.0,Rotation Type,Quaternion,Length Units,Millimeters",
        "",
        ",,Marker,Marker,Marker,Bone,Bone,Bone,Rigid Body,Rigid Body,Rigid Body",
        ",,Unlabeled 7,Unlabeled 7,Unlabeled 7,Hip,Hip,Hip,gripper,gripper,gripper",
        ",,1,1,1,2,2,2,3,3,3",
        ",,Position,Position,Position,Position,Position,Position,Position,Position,Position",
        "Frame,Time (Seconds),X,Y,Z,X,Y,Z,X,Y,Z",
        "0,0.000000,9,9,9,8,8,8,100,200,300",
        "1,0.010000,,,,8,8,8,,,",
        "2,0.020000,9,9,9,,,,110,200,300",
    ]
    path.write_text("\n".join(rows))
    recording = read_recording(path)
    assert list(recording.bodies) == ["gripper"]
    body = recording.bodies["gripper"]
    np.testing.assert_allclose(body.positions[[0, 2]], [[0.1, 0.2, 0.3], [0.11, 0.2, 0.3]])
    assert body.measured.tolist() == [True, False, True]
    assert any("no rotation" in note for note in recording.notes)
    assert any("when it was captured" in note for note in recording.notes)


def test_motive_with_another_separator_and_decimal_commas(tmp_path: Path) -> None:
    path = tmp_path / "take.csv"
    path.write_text(motive_csv(separator=";", unit="Millimeters"))
    recording = read_recording(path)
    assert list(recording.bodies) == ["gripper", "door frame"]
    np.testing.assert_allclose(recording.bodies["door frame"].positions[2], [0.2, 1.0, -0.5], atol=1e-8)
    assert any("';'" in note for note in recording.notes)


def test_an_export_without_times_is_timed_by_its_frames(tmp_path: Path) -> None:
    rows = [row.split(",") for row in motive_csv().split("\r\n")]
    path = tmp_path / "take.csv"
    path.write_text("\r\n".join(",".join(row if i == 0 else row[:1] + row[2:]) for i, row in enumerate(rows)))
    recording = read_recording(path)
    door = recording.bodies["door frame"]
    assert np.diff(door.t_ns).tolist() == [10_000_000] * 3
    np.testing.assert_allclose(door.positions[2], [0.2, 1.0, -0.5], atol=1e-8)
    assert any("100 Hz" in note for note in recording.notes)
    path.write_text(path.read_text().replace("Capture Frame Rate", "Capture Rate"))
    with pytest.raises(SessionError, match="neither a column of times nor a frame rate"):
        read_recording(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("Take 1", "Take 1, door, closed"),
        lambda text: "sep=,\r\n" + text,
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\r\n", "\n"),
        lambda text: text.replace("Length Units,Millimeters", "Length Units,mm"),
        lambda text: text.replace("door frame", '"door, frame ""A"""'),
        lambda text: text.replace("door frame", "Türrahmen"),
    ],
)
def test_exports_that_went_through_other_hands(tmp_path: Path, change: Callable[[str], str]) -> None:
    path = tmp_path / "take.csv"
    path.write_bytes(change(motive_csv(unit="Millimeters")).encode())
    recording = read_recording(path)
    _, door = recording.bodies.values()
    np.testing.assert_allclose(door.positions[2], [0.2, 1.0, -0.5], atol=1e-8)


def test_names_in_the_code_page_of_an_older_windows(tmp_path: Path) -> None:
    path = tmp_path / "take.csv"
    path.write_bytes(motive_csv().replace("door frame", "Türrahmen").encode("cp1252"))
    assert list(read_recording(path).bodies) == ["gripper", "Türrahmen"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (motive_csv(kind="Marker"), "no rigid body"),
        (motive_csv(unit="Furlongs"), "'Furlongs'"),
        (motive_csv(rotation="Axis-Angle"), "'Axis-Angle'"),
        ("\r\n".join(motive_csv().split("\r\n")[:7]), "no frames"),
        ("\r\n".join(motive_csv().split("\r\n")[:3]), "no row"),
        (motive_csv().replace("0.300000000", "lost"), "line 11, column 7: 'lost'"),
        ("", "is empty"),
        ("a b c\n", "lack some of"),
        ("1 2 3 4 5\n", "has 5 columns"),
        ("1 2 3 4 5 6 7\n", "no unit quaternion"),
        ("1 2 3\n4 five 6\n", "line 2: 'five'"),
        ("1 2 3\n4 5\n6 7 8\n", "line 2 has 2 columns"),
    ],
)
def test_what_cannot_be_imported_is_explained(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "take.csv"
    path.write_text(text)
    with pytest.raises(SessionError, match=message):
        import_recording(path, tmp_path / "take.mcap")
    assert not (tmp_path / "take.mcap").exists()


@pytest.mark.parametrize(
    ("told", "hour"),
    [
        ("03.14.26.331 PM", 15),
        ("03.14.26.331 P.M.", 15),
        ("12.14.26.331 AM", 0),
        ("15:14:26.331", 15),
        ("03.14.26.331 DU.", 3),
    ],
)
def test_the_start_of_a_capture_in_any_spelling(tmp_path: Path, told: str, hour: int) -> None:
    path = tmp_path / "take.csv"
    path.write_text(motive_csv().replace("03.14.26.331 PM", told))
    recording = read_recording(path)
    started = datetime(2024, 5, 6, hour, 14, 26, 331000, tzinfo=UTC)
    assert recording.bodies["gripper"].t_ns[0] == round(started.timestamp() * 1000) * 1_000_000
    assert any("add 12 hours" in note for note in recording.notes) is ("DU" in told)


def test_times_rounded_to_milliseconds_are_put_right(tmp_path: Path) -> None:
    path = tmp_path / "take.csv"
    text = motive_csv().replace("100.000000", "360.000000")
    for frame, rounded in enumerate(("0.000000", "0.003000", "0.006000", "0.008000")):
        text = text.replace(f"\r\n{frame},{frame / 100:.6f},", f"\r\n{frame},{rounded},")
    path.write_text(text)
    t_ns = read_recording(path).bodies["gripper"].t_ns
    np.testing.assert_allclose(np.diff(t_ns), 1e9 / 360, atol=2)


def test_a_body_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    path = tmp_path / "take.csv"
    path.write_text(motive_csv())
    with pytest.raises(SessionError, match="gripper, door frame"):
        import_recording(path, tmp_path / "take.mcap", body="hand")
    with pytest.raises(SessionError, match="No such file"):
        import_recording(tmp_path / "nowhere.csv", tmp_path / "take.mcap")


def test_mutated_tables_never_raise_anything_else(tmp_path: Path) -> None:
    mutated = runpy.run_path(str(Path(__file__).with_name("mutations.py")))["mutated_text"]
    rng = random.Random(8)
    originals = [
        motive_csv().encode(),
        motive_csv(rotation="XYZ", version="1.25", separator=";").encode(),
        b"".join(b"%d.5 0.1 0.2 0.3 0 0 0 1\n" % i for i in range(30)),
    ]
    path, read = tmp_path / "take.csv", 0
    for i in range(600):
        path.write_bytes(mutated(originals[i % 3], rng))
        try:
            import_recording(path, tmp_path / "take.mcap", overwrite=True) if i % 20 == 0 else read_recording(path)
            read += 1
        except SessionError:
            continue
    assert read > 50


def test_a_cut_off_last_row_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "take.csv"
    path.write_text(motive_csv()[:-60])
    recording = read_recording(path)
    assert len(recording.bodies["gripper"]) == 3
    assert any("cut off" in note for note in recording.notes)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("1 2 3 0 0 0 1\n4 5 6 0 0 1 0\n", [0, 10_000_000]),
        ("1,2,3,0,0,0,1\n4,5,6,0,0,1,0\n", [0, 10_000_000]),
        ("# tum\n0.5 1 2 3 0 0 0 1\n\n0.75 4 5 6 0 0 1 0\n", [500_000_000, 750_000_000]),
        ("0,5;1;2;3;0;0;0;1\n0,75;4;5;6;0;0;1;0\n", [500_000_000, 750_000_000]),
        ("qw,qx,qy,qz,x,y,z,time\n1,0,0,0,1,2,3,0.5\n0,0,0,1,4,5,6,0.75\n", [500_000_000, 750_000_000]),
        (
            "1700000000500000000 1 2 3 0 0 0 1\n1700000000750000000 4 5 6 0 0 1 0\n",
            [1_700_000_000_500_000_000, 1_700_000_000_750_000_000],
        ),
    ],
)
def test_pose_logs(tmp_path: Path, text: str, times: list[int]) -> None:
    path = tmp_path / "log.txt"
    path.write_text(text)
    imported = import_recording(path, tmp_path / "log.mcap")
    poses = open_session(imported.path).poses("gripper")
    assert poses.t_ns.tolist() == times
    assert poses.positions.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert poses.quaternions.tolist() == [[0, 0, 0, 1], [0, 0, 1, 0]]


@pytest.mark.parametrize(
    "head",
    ["# t x y z qw qx qy qz", "t,x,y,z,qw,qx,qy,qz", "% time pos_x pos_y pos_z q_w q_x q_y q_z"],
)
def test_names_of_columns_tell_their_order(tmp_path: Path, head: str) -> None:
    path = tmp_path / "log.txt"
    path.write_text(f"# a log\n{head}\n0.0 0.1 0.2 0.3 0.8 0.6 0.0 0.0\n0.5 0.1 0.2 0.3 0.8 0.6 0.0 0.0\n")
    poses = read_recording(path).bodies["gripper"]
    assert poses.quaternions.tolist() == [[0.6, 0.0, 0.0, 0.8]] * 2
    assert poses.t_ns.tolist() == [0, 500_000_000]


def test_what_is_odd_about_a_pose_log_is_said(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("frame,x,y,z\n1,100,200,300\n2,100,200,301\n")
    notes = " ".join(read_recording(path).notes)
    assert "columns frame were left out" in notes
    assert "reach 301 m" in notes


def test_real_pose_logs_keep_every_number(tmp_path: Path) -> None:
    logs = sorted(STURM.glob("*/*.log"))
    if not logs:
        pytest.skip("the recorded tracks of ../shared/data/sturm are not beside this repository")
    for log in logs:
        rows = np.loadtxt(log)
        imported = import_recording(log, tmp_path / f"{log.parent.name}-{log.stem}.mcap", body="gripper")
        poses = open_session(imported.path).poses("gripper")
        assert (poses.positions == rows[:, :3]).all()
        assert any("no orientations" in note for note in imported.notes) is (rows.shape[1] == 3)
        if rows.shape[1] == 7:
            np.testing.assert_allclose(poses.quaternions, rows[:, 3:], atol=1e-5)


@pytest.mark.parametrize("kind", ["ros1", "sqlite3", "mcap"])
def test_ros_bags(tmp_path: Path, kind: str) -> None:
    pytest.importorskip("rosbags", reason="rosbags is not installed")
    bag = write_bag(tmp_path, kind)
    imported = import_recording(bag, tmp_path / "session.mcap")
    session = open_session(imported.path)
    assert sorted(session.bodies) == ["base", "cart", "gripper", "lid"]
    for body in session.bodies:
        poses = session.poses(body)
        assert poses.t_ns.tolist() == [5_000_000_000 + i * 10_000_000 for i in range(5)]
        assert poses.positions.tolist() == [[0.1 * i, 0.0, 1.0] for i in range(5)]
    assert session.wrenches().wrench.tolist() == [[1.0 * i, 0, 0, 0, 0, 0.5] for i in range(5)]
    with pytest.raises(SessionError, match="session already"):
        import_recording(imported.path, tmp_path / "again.mcap")
    damaged = tmp_path / f"damaged{bag.suffix or '.bag'}"
    damaged.write_bytes((bag if bag.is_file() else next(bag.glob("*.[dm]*"))).read_bytes()[:500])
    with pytest.raises(SessionError, match="cannot be read as a ROS bag"):
        import_recording(damaged, tmp_path / "again.mcap")


def write_bag(folder: Path, kind: str) -> Path:
    from rosbags.rosbag1 import Writer as Writer1
    from rosbags.rosbag2 import StoragePlugin
    from rosbags.rosbag2 import Writer as Writer2
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    old = kind == "ros1"
    store = get_typestore(Stores.ROS1_NOETIC if old else Stores.ROS2_HUMBLE)
    if old:
        store.register(get_types_from_msg("geometry_msgs/TransformStamped[] transforms", "tf2_msgs/msg/TFMessage"))
    path = folder / ("bag.bag" if old else "bag")
    writer = Writer1(path) if old else Writer2(path, version=8, storage_plugin=StoragePlugin[kind.upper()])
    t = store.types
    vector, quaternion = t["geometry_msgs/msg/Vector3"], t["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=1.0)
    kinds = [
        "geometry_msgs/msg/PoseStamped",
        "geometry_msgs/msg/WrenchStamped",
        "tf2_msgs/msg/TFMessage",
        "std_msgs/msg/String",
        "geometry_msgs/msg/TransformStamped",
        "geometry_msgs/msg/PoseWithCovarianceStamped",
    ]
    with writer:
        topics = ["/mocap/gripper/pose", "/ft", "/tf", "/chatter", "/vicon", "/base/pose"]
        links = [writer.add_connection(topic, k, typestore=store) for topic, k in zip(topics, kinds, strict=True)]
        for i in range(5):
            stamp = t["builtin_interfaces/msg/Time"](sec=5, nanosec=i * 10_000_000)
            extra = {"seq": i} if old else {}
            head = t["std_msgs/msg/Header"](stamp=stamp, frame_id="world", **extra)
            at = t["geometry_msgs/msg/Point"](x=0.1 * i, y=0.0, z=1.0)
            pose = t["geometry_msgs/msg/Pose"](position=at, orientation=quaternion)
            wrench = t["geometry_msgs/msg/Wrench"](force=vector(1.0 * i, 0.0, 0.0), torque=vector(0.0, 0.0, 0.5))
            move = t["geometry_msgs/msg/Transform"](translation=vector(0.1 * i, 0.0, 1.0), rotation=quaternion)
            link = t["geometry_msgs/msg/TransformStamped"](header=head, child_frame_id="lid", transform=move)
            cart = t["geometry_msgs/msg/TransformStamped"](header=head, child_frame_id="cart", transform=move)
            base = t["geometry_msgs/msg/PoseWithCovariance"](pose, np.zeros(36))
            messages = [
                t[kinds[0]](head, pose), t[kinds[1]](head, wrench), t[kinds[2]]([link]), t[kinds[3]]("hello"), cart,
                t[kinds[5]](head, base),
            ]  # fmt: skip
            for connection, message in zip(links, messages, strict=True):
                pack = store.serialize_ros1 if old else store.serialize_cdr
                writer.write(connection, 9_000_000_000 + i, pack(message, connection.msgtype))
    return path
