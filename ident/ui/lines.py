"""The measurement as plain lines of text: for pipes, logs, screen readers and the demo."""

from typing import TextIO

from ident.workflow.state import Phase, State
from ident.workflow.texts import instruction, progress


class Lines:
    """Prints what changed from one state to the next, a line for each thing."""

    def __init__(self, out: TextIO, *, guide: bool = True) -> None:
        self._out = out
        self._guide = guide
        self._before = State()

    def show(self, state: State) -> None:
        """Print what is new in a state."""
        before, self._before = self._before, state
        if state.notice and state.notice != before.notice:
            self._say(f"! {state.notice}")
        self._results(before, state)
        if self._guide and (state.phase, state.target, state.problems) != (
            before.phase,
            before.target,
            before.problems,
        ):
            self._instruct(state)

    def _results(self, before: State, state: State) -> None:
        for step in state.steps:
            if step.verdict is not None and step.verdict != before.step(step.name).verdict:
                mark = "ok" if step.record is not None and step.verdict.good else "!!"
                self._verdict(mark, step.name, step.verdict.summary, state)
        for result in state.results:
            old = before.result(result.node)
            if old is None or old.verdict != result.verdict or old.takes != result.takes:
                found_out = f"{result.verdict.found_out}: " if result.verdict.found_out else ""
                mark = "ok" if result.verdict.good else "!!"
                self._verdict(mark, result.node, found_out + result.verdict.summary, state)
            elif result.accepted and not old.accepted:
                self._say(f"  ok  {result.node:<14} accepted")
        guided = self._guide or state.phase is not Phase.VERDICT or before.phase is Phase.VERDICT
        if not guided and state.verdict is not None:
            for finding in state.verdict.findings:
                self._say(f"      {finding.message} {finding.remedy}".rstrip())

    def _verdict(self, mark: str, subject: str, text: str, state: State) -> None:
        done, total = progress(state)
        self._say(f"  {mark}  {subject:<14} {text}  [{done}/{total}]")

    def _instruct(self, state: State) -> None:
        text = instruction(state)
        if state.phase in (Phase.WORKING, Phase.SAVING) or (state.phase is Phase.CHECK and not state.problems):
            return
        self._say("")
        self._say(text.title)
        for line in text.body.splitlines():
            self._say(f"  {line}")
        if text.keys:
            self._say("  " + "   ".join(f"[{key}] {what}" for key, what in text.keys))

    def _say(self, line: str) -> None:
        print(line, file=self._out, flush=True)
