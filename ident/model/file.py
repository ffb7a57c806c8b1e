"""Model files, ``*.model.json``: read with every problem and its line, written so that a person can edit them."""

import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ident.handles import Handle, handle_types
from ident.joints import Joint, joint_types
from ident.joints.problems import ModelError, Problem
from ident.model.convert import node_from_data, node_to_data
from ident.model.migrate import MIGRATIONS, migrate
from ident.model.schema import FORMAT, VERSION, ModelData, NodeData
from ident.model.text import Path as Place
from ident.model.text import line_of, locate, pretty
from ident.tree import KinematicTree, name_problems, parent_problems

MAX_BYTES = 20_000_000
"""A model of a thousand joints has about 2 MB; more is a mistake or an attack."""
MAX_DEPTH = 50
_NODE = TypeAdapter(NodeData)
_SHOWN = 40
"""How many characters of a wrong value are repeated in a message."""


def load_model(path: str | os.PathLike[str]) -> KinematicTree:
    """Read a model file; raise ModelError with every problem and its line."""
    return parse_model(read_text(Path(path), MAX_BYTES), name=str(path))


def save_model(tree: KinematicTree, path: str | os.PathLike[str]) -> None:
    """Write a model file, whole or not at all; raise ModelError if the tree cannot be used."""
    problems = tree.validate()
    if problems:
        raise ModelError(f"{tree.name} was not saved, because it has {_count(problems)}:", problems)
    write_text(Path(path), model_text(tree))


def model_text(tree: KinematicTree) -> str:
    """Return the text of a tree's model file."""
    document: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": tree.name}
    document["provenance"] = dict(tree.provenance)
    document["joints"] = [node_to_data(j) for j in tree.joints]
    document["handles"] = [node_to_data(h) for h in tree.handles]
    return pretty({**document, **tree.extra}) + "\n"


def parse_model(text: str, name: str = "the model") -> KinematicTree:
    """Read the text of a model file; raise ModelError with every problem and its line."""
    document = _parse_json(text, name)
    lines, doubles = locate(text)
    problems = [Problem(_shown_place(place), "this key is there twice", line) for place, line in doubles]
    tree, found = _read(document)
    problems += [Problem(_shown_place(place), message, line_of(lines, place)) for place, message in found]
    if problems or tree is None:
        unique = sorted(set(problems), key=lambda p: (p.line or 0, p.place))
        raise ModelError(f"{name} is not a usable model, it has {_count(unique)}:", unique)
    return tree


def read_text(path: Path, limit: int) -> str:
    """Read a text file of limited size; raise ModelError where that fails."""
    try:
        size = path.stat().st_size
        if size > limit:
            raise ModelError(
                f"{path} has {size / 1e6:.1f} MB; the largest model has {limit / 1e6:g} MB. Is it the right file?"
            )
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ModelError(f"{path} does not exist. Check the path.") from None
    except UnicodeDecodeError as error:
        raise ModelError(f"{path} is no text file: byte {error.start} is not UTF-8.") from None
    except OSError as error:
        raise ModelError(f"{path} cannot be read: {error.strerror}.") from None


def write_text(path: Path, text: str) -> None:
    """Write a text file through a temporary one beside it, so that a crash never leaves half a file."""
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ModelError(f"{path} cannot be written: {error.strerror}. Choose another folder.") from None


def _parse_json(text: str, name: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        place = Problem(f"column {error.colno}", error.msg, error.lineno)
        raise ModelError(f"{name} is not valid JSON:", [place]) from None
    except (ValueError, RecursionError):
        raise ModelError(f"{name} is not valid JSON: nested too deeply, or a number with too many digits.") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ModelError(f'{name} is JSON, but no model: a model has "format": "{FORMAT}" at its top.')
    version = document.get("version")
    oldest = min(MIGRATIONS, default=VERSION)
    if isinstance(version, bool) or not isinstance(version, int) or version < oldest:
        raise ModelError(f"{name} has the version {_shown(version)}; this program reads {oldest} to {VERSION}.")
    if version > VERSION:
        raise ModelError(f"{name} has the version {_shown(version)}; this program reads up to {VERSION}. Update ident.")
    return document


def _read(document: dict[str, Any]) -> tuple[KinematicTree | None, list[tuple[Place, str]]]:
    found = _not_finite(document, ())
    if found:
        return None, found
    document = migrate(document, VERSION)
    shell = {k: v for k, v in document.items() if k not in ("joints", "handles")}
    try:
        top = ModelData.model_validate({**shell, "joints": [], "handles": []})
    except ValidationError as error:
        top = None
        found += [(tuple(e["loc"]), _message(e)) for e in error.errors()]
    joints: list[Joint] = _nodes(document, "joints", joint_types(), found)
    handles: list[Handle] = _nodes(document, "handles", handle_types(), found)
    found += _structure(document)
    if found or top is None:
        return None, found
    tree = KinematicTree(top.name, tuple(joints), tuple(handles), dict(top.provenance), dict(top.model_extra or {}))
    return tree, [((p.place,), p.message) for p in tree.validate()]


def _nodes(document: dict[str, Any], key: str, types: Any, found: list[tuple[Place, str]]) -> list[Any]:
    """Read the entries of one list, each on its own, so that one bad entry hides no problem of another."""
    entries = document.get(key, [])
    if not isinstance(entries, list):
        found.append(((key,), "is not a list"))
        return []
    nodes = []
    for i, entry in enumerate(entries):
        try:
            data = _NODE.validate_python(entry)
        except ValidationError as error:
            found += [((key, i, *e["loc"]), _message(e)) for e in error.errors()]
            continue
        node, problems = node_from_data(data, types)
        found += [((key, i, *filter(None, p.place.split("/"))), p.message) for p in problems]
        nodes.append(node)
    return nodes


def _structure(document: dict[str, Any]) -> list[tuple[Place, str]]:
    """Names and parents of all entries that have them, whatever else is wrong with the entries."""
    places: dict[str, Place] = {}
    parents: dict[str, str] = {}
    handles: set[str] = set()
    found: list[tuple[Place, str]] = []
    for key in ("joints", "handles"):
        entries = document.get(key, [])
        for i, entry in enumerate(entries if isinstance(entries, list) else []):
            name = entry.get("name") if isinstance(entry, dict) else None
            parent = entry.get("parent", "root") if isinstance(entry, dict) else None
            if not isinstance(name, str) or not isinstance(parent, str):
                continue
            found += [((key, i, "name"), p.message) for p in name_problems(name)]
            if name in places:
                found.append(((key, i, "name"), f"{_shown(name)} is there twice; names are unique"))
                continue
            places[name], parents[name] = (key, i), parent
            if key == "handles":
                handles.add(name)
    found += [((*places[p.place], "parent"), p.message) for p in parent_problems(parents, handles)]
    return found


def _not_finite(value: Any, place: Place) -> list[tuple[Place, str]]:
    """Find NaN, infinity, and nesting that no model has."""
    if len(place) > MAX_DEPTH:
        return [(place[:3], f"is nested more than {MAX_DEPTH} deep")]
    if isinstance(value, float) and not math.isfinite(value):
        return [(place, f"{value} is not a finite number")]
    if isinstance(value, dict):
        return [f for k, v in value.items() for f in _not_finite(v, (*place, k))]
    if isinstance(value, list):
        return [f for i, v in enumerate(value) for f in _not_finite(v, (*place, i))]
    return []


def _message(error: Any) -> str:
    text = str(error["msg"]).removeprefix("Value error, ")
    text = text[:1].lower() + text[1:]
    given = error.get("input")
    return text if error["type"] in ("missing", "value_error") else f"{text} (it is {_shown(given)})"


def _shown(value: Any) -> str:
    text = repr(value) if isinstance(value, str | int | float | bool | type(None)) else f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _shown_place(place: Place) -> str:
    return "/".join(str(part)[:_SHOWN] for part in place)


def _count(problems: list[Problem]) -> str:
    return "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
