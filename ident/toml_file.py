"""Reading TOML so that every problem is named with its line."""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ident.errors import IdentError

MAX_BYTES = 1_000_000
"""A description written by a person is far smaller; larger is a mistake."""

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*(\"[^\"]*\"|'[^']*'|[A-Za-z0-9_.-]+)\s*=")


class TomlFile:
    """A parsed file that knows on which line each of its values stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            size = path.stat().st_size
            if size > MAX_BYTES:
                raise IdentError(
                    f"{path} has {size / 1e6:.0f} MB; a description has less than 1. Is it the right file?"
                )
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise IdentError(f"{path} does not exist. Check the path, or write it with `ident new`.") from None
        except UnicodeDecodeError as error:
            raise IdentError(f"{path} is no text file (byte {error.start} is not UTF-8).") from None
        except OSError as error:
            raise IdentError(f"{path} cannot be read: {error.strerror}.") from None
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise IdentError(f"{path} is not valid TOML: {error}.") from None
        self._lines = _line_of_each_key(text)

    def line(self, path: Iterable[str | int]) -> int:
        """Line (from 1) of the value at a path of keys and indices, or of the nearest thing around it."""
        keys = tuple(path)
        while keys and keys not in self._lines:
            keys = keys[:-1]
        return self._lines.get(keys, 1)

    def refuse(self, problems: Iterable[tuple[Iterable[str | int], str]]) -> IdentError:
        """One error for all problems, each with its line."""
        lines = sorted({(self.line(path), message) for path, message in problems})
        count = "1 problem" if len(lines) == 1 else f"{len(lines)} problems"
        listing = "\n".join(f"  line {line}: {message}" for line, message in lines)
        return IdentError(f"{self.path} has {count}:\n{listing}")


def _line_of_each_key(text: str) -> dict[tuple[str | int, ...], int]:
    lines: dict[tuple[str | int, ...], int] = {}
    table: tuple[str | int, ...] = ()
    counts: dict[tuple[str | int, ...], int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        if header:
            table = tuple(part.strip(" \"'") for part in header.group(2).split("."))
            if header.group(1) == "[[":
                counts[table] = counts.get(table, -1) + 1
                lines.setdefault(table, number)
                table = (*table, counts[table])
            lines.setdefault(table, number)
            continue
        key = _KEY.match(line)
        if key:
            lines.setdefault((*table, *(part.strip("\"'") for part in key.group(1).split("."))), number)
    return lines
