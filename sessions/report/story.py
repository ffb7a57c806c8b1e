"""What happened, in sentences: the session's events for a reader who was not there."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from sessions.reader import Session

_QUIET = ("Proceed", "DeviceChanged")
"""Events that say nothing without the ones after them, or what the device says itself."""


def story(session: Session) -> list[dict[str, Any]]:
    """Time (s from the session's start) and sentence of each event, device message and press, in order of time."""
    start = session.t0_ns
    lines: list[tuple[int, str, str]] = []
    before = ""
    for entry in session.events():
        kind = str(entry.content.get("event", entry.content.get("type", "event")))
        if kind not in _QUIET:
            if before == kind == "RigChecked":
                # Looked at again and again until it was in order: the last time counts.
                lines.pop()
            before = kind
            lines.append((entry.t_ns, "event", _sentence(kind, entry.content)))
    lines += [
        (e.t_ns, "device", f"{e.content.get('device', 'device')}: {e.content.get('message', '')}")
        for e in session.device_events()
    ]
    lines += [(e.t_ns, "press", f"Press of {e.content.get('source', 'the trigger')}.") for e in session.presses()]
    ordered = sorted(lines, key=lambda line: line[0])
    return [{"t": (t_ns - start) / 1e9, "kind": kind, "text": text} for t_ns, kind, text in ordered]


def verdict_of(data: Any) -> dict[str, Any]:
    """A verdict as summary, whether it is good, and findings with their remedies."""
    if not isinstance(data, Mapping):
        return {"good": True, "summary": "", "findings": []}
    findings = [f for f in data.get("findings") or () if isinstance(f, Mapping)]
    texts = [" ".join(str(f.get(key) or "") for key in ("message", "remedy")).strip() for f in findings]
    return {"good": not findings, "summary": str(data.get("summary", "")), "findings": texts}


def calibration_numbers(calibration: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The tip's calibration as numbers to show."""
    if not calibration or "offset_m" not in calibration:
        return None
    details = calibration.get("details")
    numbers = {k: v for k, v in details.items() if isinstance(v, int | float)} if isinstance(details, Mapping) else {}
    return {
        "method": str(calibration.get("method", "")),
        "offset": [float(v) for v in calibration["offset_m"]],
        "std": float(calibration.get("position_std_m") or 0.0),
        "verdict": str(calibration.get("verdict", "")),
        "details": numbers,
    }


def _sentence(kind: str, event: Mapping[str, Any]) -> str:
    tell = _SENTENCES.get(kind)
    if tell is not None:
        try:
            return tell(event)
        except (KeyError, TypeError, ValueError, AttributeError):
            pass
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower()
    details = ", ".join(f"{k} {v}" for k, v in event.items() if k not in ("event", "type", "t_ns") and _is_plain(v))
    return f"{words.capitalize()}{': ' + details if details else ''}."


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and value not in ("", None)


_SENTENCES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "Described": lambda e: (
        f"The object {e['plan']['name']!r} is described: " + ", ".join(n["name"] for n in e["plan"]["nodes"]) + "."
    ),
    "RigChecked": lambda e: " ".join(e["problems"]) or "The rig is in order.",
    "TakeEnded": lambda e: f"Take {e['take'] + 1} ended: {e['measured']} of {e['samples']} frames measured.",
    "Calibrated": lambda e: f"Tip calibrated. {e['calibration']['verdict']}",
    "Fitted": lambda e: (
        f"{e['node']}: {e['verdict']['summary']}." + "".join(f" {f['message']}" for f in e["verdict"]["findings"])
    ),
    "Failed": lambda e: str(e["reason"]),
    "Remark": lambda e: f"Remark: {e['text']}",
    "Saved": lambda _: "The model is saved.",
    "SaveFailed": lambda e: str(e["reason"]),
    "Interrupted": lambda _: "The program ended and was resumed.",
    "Place": lambda e: f"{e['node']} stands at {e['at']}.",
    "ChangeType": lambda e: f"{e['node']} is taken as {e['kind']}.",
}
