"""Scenes as TOML: an object of one's own needs no code. ``docs/simulation.md`` describes the file."""

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from devices.sim.frames import unit
from devices.sim.scene import STANDARD_GRAVITY, Bench, Handle, Joint, Scene, SceneError, Stray


def shipped_scenes() -> tuple[str, ...]:
    """Names of the scenes that come with the product."""
    folder = resources.files("devices.sim") / "scenes"
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")))


def load_scene(name_or_path: str | Path) -> Scene:
    """A shipped scene by its name, or a scene file by its path."""
    if str(name_or_path) in shipped_scenes():
        text = (resources.files("devices.sim") / "scenes" / f"{name_or_path}.toml").read_text("utf-8")
        return parse_scene(text, str(name_or_path))
    path = Path(name_or_path)
    if path.suffix != ".toml":
        raise SceneError(
            f"No scene {str(name_or_path)!r}. Name one of {', '.join(shipped_scenes())}, or the path of a .toml file."
        )
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SceneError(f"Scene file {path} cannot be read: {error}.") from error
    return parse_scene(text, str(path))


def parse_scene(text: str, source: str) -> Scene:
    """A scene from TOML text; ``source`` names it in messages."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SceneError(f"Scene {source} is not TOML: {error}.") from error
    problems: list[str] = []
    joints = tuple(j for t in table.get("joint", []) if (j := _joint(t, problems)) is not None)
    handles = tuple(h for t in table.get("handle", []) if (h := _handle(t, problems)) is not None)
    bench = _bench(table.get("calibration", {}), problems)
    rest = _vector(table, "rest", "the scene", problems)
    gravity = _vector(table, "gravity", "the scene", problems, default=STANDARD_GRAVITY)
    problems += _structure(joints, handles)
    if problems or bench is None:
        raise SceneError(f"Scene {source} has {len(problems)} problem(s):\n  " + "\n  ".join(problems))
    return Scene(str(table.get("name", source)), joints, handles, bench, rest, gravity)


_JOINT_NUMBERS = ("friction", "breakaway", "damping", "inertia", "spring", "stop_stiffness", "shake")


def _joint(table: dict[str, Any], problems: list[str]) -> Joint | None:
    name = str(table.get("name", "(unnamed)"))
    where = f"joint {name}"
    found = len(problems)
    kind = table.get("type")
    upper = 0.0
    if kind == "rotary":
        upper = float(np.radians(_number(table, "range_deg", where, problems)))
    elif kind == "prismatic":
        upper = _number(table, "range_m", where, problems)
    else:
        problems.append(f"{where}: type must be rotary or prismatic, not {kind!r}.")
    numbers = {key: _number(table, key, where, problems) for key in _JOINT_NUMBERS if key in table}
    strays = None
    if "strays" in table:
        strays = Stray(str(table["strays"].get("joint")), _number(table["strays"], "amount", where, problems))
    axis = _direction(table, "axis", where, problems)
    point = _vector(table, "point", where, problems)
    known = {
        "name",
        "type",
        "parent",
        "range_deg",
        "range_m",
        "axis",
        "point",
        "grip",
        "strays",
        *_JOINT_NUMBERS,
    }
    problems += [f"{where}: unknown key {key!r}." for key in sorted(set(table) - known)]
    if len(problems) > found:
        return None
    parent, grip = str(table.get("parent", "root")), str(table.get("grip", ""))
    return Joint(name, str(kind), parent, axis, point, upper, grip, strays=strays, **numbers)


def _handle(table: dict[str, Any], problems: list[str]) -> Handle | None:
    name = str(table.get("name", "(unnamed)"))
    where = f"handle {name}"
    found = len(problems)
    axis = _direction(table, "axis", where, problems)
    point = _vector(table, "point", where, problems)
    approach = _vector(table, "approach", where, problems)
    length = _number(table, "length_m", where, problems)
    radius = _number(table, "radius_m", where, problems)
    turn = table.get("turn_deg")
    if not (isinstance(turn, list) and len(turn) == 2 and all(isinstance(x, int | float) for x in turn)):
        problems.append(f"{where}: turn_deg must be two numbers, lower and upper.")
    if len(problems) > found or not isinstance(turn, list):
        return None
    lower, upper = (float(np.radians(x)) for x in turn)
    return Handle(name, str(table.get("parent", "root")), axis, point, length, radius, approach, (lower, upper))


def _bench(table: dict[str, Any], problems: list[str]) -> Bench | None:
    where = "[calibration]"
    found = len(problems)
    bench = Bench(
        point=_vector(table, "point", where, problems),
        axis=_direction(table, "axis", where, problems),
        radius=_number(table, "radius_m", where, problems),
        approach=_vector(table, "approach", where, problems),
        dimple=_vector(table, "dimple", where, problems),
        table=_vector(table, "table", where, problems),
    )
    return bench if len(problems) == found else None


def _structure(joints: tuple[Joint, ...], handles: tuple[Handle, ...]) -> list[str]:
    problems: list[str] = []
    nodes: list[Joint | Handle] = [*joints, *handles]
    names = [node.name for node in nodes]
    problems += [f"two nodes are named {name!r}." for name in sorted({n for n in names if names.count(n) > 1})]
    parents = {j.name: j.parent for j in joints}
    for node in nodes:
        if node.parent != "root" and node.parent not in parents:
            problems.append(f"{node.name}: parent {node.parent!r} is neither root nor a joint.")
    for joint in joints:
        seen, link = {joint.name}, joint.parent
        while link in parents and link not in seen:
            seen.add(link)
            link = parents[link]
        if link in seen:
            problems.append(f"joint {joint.name}: its parents form a cycle.")
        if joint.grip not in {h.name for h in handles}:
            problems.append(f"joint {joint.name}: grip {joint.grip!r} is not a handle.")
        if joint.strays is not None and joint.strays.joint not in parents:
            problems.append(f"joint {joint.name}: strays into {joint.strays.joint!r}, which is not a joint.")
    if not nodes:
        problems.append("there is neither a [[joint]] nor a [[handle]].")
    return problems


def _number(table: dict[str, Any], key: str, where: str, problems: list[str]) -> float:
    value = table.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value) or value < 0:
        problems.append(f"{where}: {key} must be a number ≥ 0, not {value!r}.")
        return 1.0
    return float(value)


def _vector(
    table: dict[str, Any],
    key: str,
    where: str,
    problems: list[str],
    default: tuple[float, float, float] | None = None,
) -> tuple[float, float, float]:
    value = table.get(key, default)
    try:
        x, y, z = (float(v) for v in value)  # type: ignore[union-attr]
    except (TypeError, ValueError):
        problems.append(f"{where}: {key} must be three numbers, not {value!r}.")
        return (0.0, 0.0, 1.0)
    return x, y, z


def _direction(table: dict[str, Any], key: str, where: str, problems: list[str]) -> tuple[float, float, float]:
    vector = _vector(table, key, where, problems)
    if not any(vector):
        problems.append(f"{where}: {key} must not be zero.")
        return (0.0, 0.0, 1.0)
    x, y, z = unit(vector)
    return float(x), float(y), float(z)
