"""A session as one HTML page that needs nothing else: no network, no server, no other file."""

import html
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from sessions.reader import Session
from sessions.report.data import collect

__all__ = ["render_report"]

_SCRIPTS = ("math.js", "scene.js", "charts.js", "model.js", "page.js")


def render_report(session: Session, model: Mapping[str, Any] | None = None) -> str:
    """The page's text. ``model`` is a model file's content; without it, the fits recorded in the session are shown."""
    data = collect(session, model)
    # Data go in as JSON that no HTML parser can mistake for markup, whatever names a session contains.
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "TITLE": html.escape(f"{data['title']} · ident report"),
        "STYLE": _resource("style.css"),
        "SCRIPT": "\n".join(_resource(name) for name in _SCRIPTS),
        "DATA": text,
    }
    page = _resource("page.html")
    for name, part in parts.items():
        page = page.replace("{{" + name + "}}", part)
    return page


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
