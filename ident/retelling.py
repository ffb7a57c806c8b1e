"""Recorded events taken in once more, with every answer of the workstation computed anew."""

import json
import os
import select
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ident.aside import aside
from ident.reprocess import ANSWERS, along_the_record, answered_again
from ident.takes import TakeData, take_data
from ident.workflow.events import Event, TakeEnded
from ident.workflow.machine import step
from ident.workflow.quality import QualityLimits
from ident.workflow.state import State

if TYPE_CHECKING:
    # The process that fits does not load decoders.
    from ident.streams import Windows

_NUMBER = 4
"""Bytes of a number in a pipe."""


class Workflow:
    """The workflow as far as it has come again, with every answer of the workstation computed anew."""

    def __init__(self, limits: QualityLimits, on_state: Callable[[State], None]) -> None:
        self.state = State()
        self.data: dict[int, TakeData] = {}
        self.differences: list[str] = []
        """Takes with other samples, and answers that would have led elsewhere; the recorded ones led on."""
        self.limits = limits
        self._on_state = on_state

    def take_in(self, ended: TakeEnded, windows: "Windows") -> None:
        """Hold the data of a take for the answers that follow, and whether it has the samples that it had."""
        window = ended.t0_ns, ended.t1_ns
        data = take_data(windows.body, *window, windows.reference, windows.loads)
        if data.samples != ended.samples:
            self.differences.append(
                f"take {ended.take + 1}: it had {ended.samples} samples when it was closed, now it has "
                f"{data.samples}; the session is damaged, or of an older version of ident"
            )
        self.data[ended.take] = data

    def fold(self, recorded: Event, answer: Event | None = None) -> Event:
        """Take in the next event, with the new answer where that is known already; return what took effect."""
        again = answer or answered_again(recorded, self.state, self.data, self.limits)
        event, differs = along_the_record(recorded, again)
        if differs:
            self.differences.append(differs)
        self.state, _ = step(self.state, event)
        self._on_state(self.state)
        return event

    def fold_all(self, log: Sequence[Event]) -> None:
        """Take in a whole log when the data of all its takes are there; its answers are computed by two processes."""
        answers = _answered_ahead(log, self.data, self.limits)
        along = True
        for i, recorded in enumerate(log):
            event = self.fold(recorded, answers.get(i) if along else None)
            along = along and (event is recorded or _as_recorded(event, recorded))


def _answered_ahead(log: Sequence[Event], data: Mapping[int, TakeData], limits: QualityLimits) -> dict[int, Event]:
    """Compute the workstation's answers to a whole log, each from where the recorded ones led, in two processes.

    Each holds as long as those before it come out as they were recorded. Some may be missing.
    """
    states, state = [], State()
    for event in log:
        states.append(state)
        state, _ = step(state, event)
    answers = [i for i, event in enumerate(log) if isinstance(event, ANSWERS)]
    left, offered = os.pipe()
    # A pipe gives each number to one of those who read it.
    os.write(offered, b"".join(i.to_bytes(_NUMBER, "little") for i in answers[: select.PIPE_BUF // _NUMBER]))
    os.close(offered)

    def some() -> dict[int, Event]:
        found = {}
        while number := os.read(left, _NUMBER):
            i = int.from_bytes(number, "little")
            # What fails here fails once more when its turn comes, if it comes to that.
            with suppress(Exception):
                found[i] = answered_again(log[i], states[i], data, limits)
        return found

    try:
        with aside(some) as others:
            return some() | others()
    finally:
        os.close(left)


def _as_recorded(answer: Event, recorded: Event) -> bool:
    """Whether an answer would be recorded in the same words."""
    return json.dumps(answer.to_dict()) == json.dumps(recorded.to_dict())
