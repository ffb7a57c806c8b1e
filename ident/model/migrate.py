"""Bring model files of older versions up to the present one."""

from collections.abc import Callable
from typing import Any

Migration = Callable[[dict[str, Any]], dict[str, Any]]

MIGRATIONS: dict[int, Migration] = {}
"""From a version to the next: ``MIGRATIONS[1]`` takes a document of version 1 and returns one of version 2."""


def migrate(document: dict[str, Any], to: int) -> dict[str, Any]:
    """Return the document in version ``to``; its own version is a known one."""
    while document["version"] < to:
        document = {**MIGRATIONS[document["version"]](document), "version": document["version"] + 1}
    return document
