"""The process that computes live fits: answers what :mod:`ident.live.process` asks until nothing more comes."""

import os
import sys
from collections.abc import Mapping
from io import FileIO
from typing import Any

from fitting import warm_up
from ident import pipe
from ident.live.fit import live_fit
from ident.live.status import LiveFit
from ident.live.words import fit_words, state_of
from ident.takes import TakeData
from ident.workflow.quality import QualityLimits
from ident.workflow.state import State

NICENESS = 5
"""Receiving, recording and keys go first; pictures, which are nicer still, come last."""


def main() -> int:
    """Answer questions until there are no more."""
    os.nice(NICENESS)
    warm_up()
    questions, answers = FileIO(0, closefd=False), FileIO(1, "w", closefd=False)
    desk = _Desk()
    try:
        pipe.write(answers, pipe.pack({}, {}))
        while (message := pipe.read(questions)) is not None:
            pipe.write(answers, pipe.pack(fit_words(desk.answer(*pipe.unpack(message))), {}))
    except BrokenPipeError:
        pass  # Nobody waits for the answer any more.
    return 0


class _Desk:
    """What the child was told last, and the fits that follow from it."""

    def __init__(self) -> None:
        self._state = State()
        self._limits = QualityLimits()
        self._others: dict[int, TakeData] = {}

    def answer(self, words: dict[str, Any], arrays: Mapping[str, Any]) -> LiveFit:
        if "state" in words:
            self._state, self._limits = state_of(words["state"]), QualityLimits(**words["limits"])
            self._others = {
                int(n): TakeData(arrays[f"t_ns {n}"], arrays[f"poses {n}"], *said)
                for n, said in words["others"].items()
            }
        running = TakeData(arrays["t_ns"], arrays["poses"], *words["running"])
        take = self._state.takes[words["take"]]
        return live_fit(self._state, take, running, self._others, self._limits, words["looks_like"])


if __name__ == "__main__":
    sys.exit(main())
