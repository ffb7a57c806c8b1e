"""JSON text for people: where each value stands, and vectors on one line."""

import json
import re
from typing import Any

Path = tuple[str | int, ...]

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_WIDTH = 110


def locate(text: str) -> tuple[dict[Path, int], list[tuple[Path, int]]]:
    """Find the line, from 1, of every value of a valid JSON text, and every key that is there twice."""
    lines: dict[Path, int] = {(): 1}
    doubles: list[tuple[Path, int]] = []
    stack: list[str | int | None] = []
    objects: list[bool] = []
    line, scanned, key_next = 1, 0, False
    for match in _TOKEN.finditer(text):
        symbol = match.group()
        line += text.count("\n", scanned, match.start())
        scanned = match.start()
        if key_next and symbol.startswith('"'):
            stack[-1] = json.loads(symbol)
            path = _path(stack)
            if path in lines:
                doubles.append((path, line))
            key_next = False
            continue
        if symbol == ":":
            continue
        if symbol in "]}":
            objects.pop()
            stack.pop()
            key_next = False
        elif symbol == ",":
            key_next = objects[-1]
            if not objects[-1]:
                stack[-1] = int(stack[-1] or 0) + 1
        else:
            lines.setdefault(_path(stack), line)
            if symbol in "[{":
                objects.append(symbol == "{")
                stack.append(None if symbol == "{" else 0)
                key_next = symbol == "{"
    return lines, doubles


def line_of(lines: dict[Path, int], path: Path) -> int | None:
    """Line of a value, or of the nearest thing around it that exists."""
    for end in range(len(path), -1, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None


def pretty(value: Any, indent: int = 0) -> str:
    """JSON text with two blanks of indentation, in which what fits on one line stays on one line."""
    flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
    nested = isinstance(value, dict) or any(isinstance(v, dict) for v in value) if _is_container(value) else False
    if not _is_container(value) or not value or (not nested and len(flat) + indent < _WIDTH):
        return flat
    pad = " " * (indent + 2)
    if isinstance(value, dict):
        rows = [f"{pad}{json.dumps(str(k), ensure_ascii=False)}: {pretty(v, indent + 2)}" for k, v in value.items()]
        return "{\n" + ",\n".join(rows) + "\n" + " " * indent + "}"
    rows = [pad + pretty(v, indent + 2) for v in value]
    return "[\n" + ",\n".join(rows) + "\n" + " " * indent + "]"


def _is_container(value: Any) -> bool:
    return isinstance(value, dict | list | tuple)


def _path(stack: list[str | int | None]) -> Path:
    return tuple(part for part in stack if part is not None)
