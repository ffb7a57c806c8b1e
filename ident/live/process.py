"""The live fit in a process of its own, so that fitting delays neither receiving nor the operator's keys.

The parent sends a sketch of the running take through a pipe and gets the fit back. The child keeps nothing that is
worth saving: it ends when its input does, also after ``kill -9`` of the parent, and the parent ends it without asking.
"""

import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, BinaryIO

from ident import pipe
from ident.live.status import LiveFit
from ident.live.words import fit_of, state_words
from ident.takes import TakeData
from ident.workflow.quality import QualityLimits
from ident.workflow.state import State, Take

ANSWER_S = 5.0
"""Real seconds after which a child that does not answer is given up; comparing all types takes 0.2."""
_LOOK_S = 0.05


class FitProcess:
    """The parent's side: asked by one thread, closed by any."""

    def __init__(self, limits: QualityLimits, stopping: Callable[[], bool]) -> None:
        self._limits = limits
        self._stopping = stopping
        self._child: subprocess.Popen[bytes] | None = None
        self._errors: BinaryIO | None = None
        self._received = bytearray()
        self._ready = False
        self._told: State | None = None
        self.note = ""
        """Why the fits come more seldom, where they do."""

    @property
    def child(self) -> "subprocess.Popen[bytes] | None":
        """The child, while it can be asked."""
        return self._child

    def start(self) -> None:
        """Start the child; it is ready a second or two later."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        try:
            # A session of its own: Ctrl-C in the terminal is for the wizard, which then ends this too.
            self._child = subprocess.Popen(
                [sys.executable, "-m", "ident.live.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                start_new_session=True,
            )
        except OSError as error:
            self._give_up(f"{error}")

    def fit(
        self, state: State, take: Take, running: TakeData, others: Mapping[int, TakeData], looks_like: str | None
    ) -> LiveFit | None:
        """Ask for the fit of a running take; None where the child cannot answer (yet)."""
        if self._child is None or (not self._ready and not self._greeted()):
            return None
        try:
            self._ask(state, take, running, others, looks_like)
            answer = self._answer(ANSWER_S)
        except (OSError, ValueError) as error:
            self._give_up(str(error))
            return None
        return None if answer is None else fit_of(answer)

    def kill(self) -> None:
        """End the child, whatever it does; a thread that waits for it goes on."""
        child = self._child
        if child is not None:
            child.kill()

    def close(self) -> None:
        """Clean up after the last question."""
        if self._child is not None:
            self._end(self._child)
        self._child = None
        if self._errors is not None:
            self._errors.close()

    def _ask(
        self, state: State, take: Take, running: TakeData, others: Mapping[int, TakeData], looks_like: str | None
    ) -> None:
        words: dict[str, Any] = {"take": take.id, "looks_like": looks_like, "running": _said(running)}
        arrays = {"t_ns": running.t_ns, "poses": running.poses}
        if state is not self._told:
            # States change a few times a minute, a take grows ten times a second.
            words["state"] = state_words(state)
            words["limits"] = asdict(self._limits)
            words["others"] = {str(number): _said(data) for number, data in others.items()}
            arrays |= {f"t_ns {number}": data.t_ns for number, data in others.items()}
            arrays |= {f"poses {number}": data.poses for number, data in others.items()}
        self._write(pipe.pack(words, arrays))
        self._told = state

    def _write(self, message: bytes) -> None:
        if self._child is not None and self._child.stdin is not None:
            pipe.write(self._child.stdin, message)

    def _greeted(self) -> bool:
        """Whether the child has said that it is ready."""
        try:
            self._ready = self._answer(0.0) is not None
        except (OSError, ValueError) as error:
            self._give_up(str(error))
        return self._ready

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        """Wait for an answer, or until the measurement ends; OSError where the child will give none."""
        child, until = self._child, time.monotonic() + seconds
        if child is None or child.stdout is None:
            return None
        while (message := pipe.split(self._received)) is None:
            if self._stopping():
                return None
            if select.select([child.stdout], [], [], min(seconds, _LOOK_S))[0]:
                piece = os.read(child.stdout.fileno(), 1 << 16)
                if not piece:
                    raise ChildProcessError(self._last_words() or "its process ended")
                self._received += piece
            elif time.monotonic() >= until:
                if seconds:
                    raise TimeoutError(f"no answer for {seconds:.0f} s")
                return None
        return pipe.unpack(message)[0]

    def _last_words(self) -> str:
        if self._errors is None:
            return ""
        self._errors.seek(0)
        said = self._errors.read()[-2000:].decode(errors="replace").strip().splitlines()
        return said[-1] if said else ""

    def _give_up(self, reason: str) -> None:
        self.note = f"live fit slow: {reason}"
        if self._child is not None:
            self._end(self._child)
        self._child = None

    @staticmethod
    def _end(child: "subprocess.Popen[bytes]") -> None:
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout):
            try:
                if stream is not None:
                    stream.close()
            except OSError:
                pass  # What it was not told any more does not matter.


def _said(data: TakeData) -> tuple[int, float]:
    return data.samples, data.longest_loss_s
