"""Plain line mode: one instruction, one line of answer. Complete, for pipes and screen readers."""

import queue
import sys
import threading
from collections.abc import Callable
from typing import TextIO

from ident.measure import Measurement
from ident.runner import Runner
from ident.ui.lines import Lines
from ident.workflow import events as ev
from ident.workflow.plan import HANDLE_KINDS, JOINT_KINDS, ROOT, Node, Plan
from ident.workflow.state import Phase, State
from ident.workflow.texts import kept

HELP = """\
  Enter  do the obvious next thing: start, stop, accept, save
  r      redo: set the last take aside        t  add a take beside it
  a      accept the fit as it is              s  skip this joint for now
  l      measure this joint's limits by hand  b  one step back
  o      mark three points, at the end        y  take the type that the verdict suggests
  p      pause, and go on                     q  quit; `ident resume` goes on later
  go NAME               jump to a joint       place NAME lower|upper|last   where it stands
  type NAME KIND        change a type         rename NAME NEW
  insert NAME KIND PARENT                     remove NAME
  note TEXT             keep a remark         ?  this help"""

_WORDS: dict[str, Callable[[], ev.Event]] = {
    "": ev.Proceed,
    "r": ev.Redo,
    "t": ev.AddTake,
    "a": ev.Accept,
    "s": ev.Skip,
    "b": ev.Back,
    "l": ev.MeasureLimits,
    "o": ev.MarkPoints,
}


class LineShell:
    """Reads answers from a stream and prints the measurement; ``run`` returns the exit status."""

    def __init__(self, source: TextIO = sys.stdin, out: TextIO = sys.stdout) -> None:
        self._source = source
        self._out = out
        self._inbox: queue.SimpleQueue[State | str | None] = queue.SimpleQueue()
        self._lines = Lines(out)
        # A person types whenever they like; the lines of a pipe are answers, each to one question.
        self._interactive = source.isatty()
        self._questions = threading.Semaphore(0)
        self._asked = False

    def on_change(self, state: State) -> None:
        """Give the shell a new state; from any thread."""
        self._inbox.put(state)

    def run(self, measurement: Measurement, plan: Plan | None) -> int:
        """Guide one measurement to its end."""
        runner = measurement.runner
        threading.Thread(target=self._read, name="stdin", daemon=True).start()
        state = runner.state
        if state.phase is Phase.DESCRIBE:
            chosen = plan or self._ask_for_plan()
            if chosen is None:
                return self._left(state)
            runner.post(ev.Described(plan=chosen.to_dict()))
        else:
            self._lines.show(state)
        while state.phase is not Phase.FINISHED:
            item = self._inbox.get()
            runner.raise_failure()
            if item is None or item == "q":
                return self._left(state)
            if isinstance(item, State):
                state = item
                self._lines.show(state)
                if _asks(state, runner):
                    self._want_line()
            else:
                self._asked = False
                self._answer(item, runner, state)
        return 0

    def _want_line(self) -> None:
        if not self._asked:
            self._asked = True
            self._questions.release()

    def _read(self) -> None:
        while True:
            if not self._interactive:
                self._questions.acquire()
            line = self._source.readline()
            self._inbox.put(line.strip() if line else None)
            if not line:
                return

    def _left(self, state: State) -> int:
        self._print(f"Stopped. {kept(state)}")
        return 1

    def _answer(self, line: str, runner: Runner, state: State) -> None:
        event = _event(line, state)
        if event is not None:
            runner.post(event)
            return
        self._print(HELP if line == "?" else f"'{line}' is not understood; ? lists what is.")
        self._want_line()

    def _ask_for_plan(self) -> Plan | None:
        self._print("Describe the object: its joints and handles, each with what it hangs on.")
        name = self._ask("Name of the object [object]: ")
        if name is None:
            return None
        plan = Plan(name or "object")
        while True:
            node = self._ask_for_node(plan)
            if node is None:
                return None
            if isinstance(node, Node):
                problems = plan.with_node(node).problems()
                if problems:
                    self._print("; ".join(problems))
                else:
                    plan = plan.with_node(node)
            elif plan.nodes:
                return plan
            else:
                self._print("An object has at least one joint.")

    def _ask_for_node(self, plan: Plan) -> Node | str | None:
        name = self._ask("Joint or handle, by name (empty: that was all): ")
        if not name:
            return name
        kind = self._ask(f"  Type ({', '.join(JOINT_KINDS + HANDLE_KINDS)}) [auto]: ")
        if kind is None:
            return None
        parent = self._ask(f"  Hangs on ({', '.join([ROOT, *(n.name for n in plan if not n.is_handle)])}) [{ROOT}]: ")
        if parent is None:
            return None
        radius = None
        if kind in HANDLE_KINDS:
            answer = self._ask("  Radius of the grip in mm [10]: ")
            if answer is None:
                return None
            try:
                radius = float(answer or 10) * 1e-3
            except ValueError:
                self._print(f"'{answer}' is no number of millimetres; 10 mm is used.")
                radius = 0.01
        return Node(name, kind or "auto", parent or ROOT, radius)

    def _ask(self, prompt: str) -> str | None:
        print(prompt, end="", file=self._out, flush=True)
        self._want_line()
        while True:
            item = self._inbox.get()
            if not isinstance(item, State):
                self._asked = False
                return item

    def _print(self, text: str) -> None:
        print(text, file=self._out, flush=True)


def _asks(state: State, runner: Runner) -> bool:
    """Whether the measurement waits for the operator, and for nobody else."""
    if state.phase is Phase.RECORDING:
        return runner.hand is None
    if state.phase is Phase.CHECK:
        return bool(state.problems)
    return state.phase in (Phase.DESCRIBE, Phase.READY, Phase.VERDICT, Phase.REVIEW)


def _event(line: str, state: State) -> ev.Event | None:
    word = line.lower()
    if word in _WORDS:
        return _WORDS[word]()
    if word == "p":
        return ev.Resume() if state.paused else ev.Pause()
    if word == "y":
        return _suggested_type(state)
    match line.split():
        case ["go", node]:
            return ev.GoTo(node=node)
        case ["place", node, at]:
            return ev.Place(node=node, at=at)
        case ["type", node, kind]:
            return ev.ChangeType(node=node, kind=kind)
        case ["rename", node, name]:
            return ev.Rename(node=node, name=name)
        case ["insert", name, kind, parent]:
            return ev.Insert(name=name, kind=kind, parent=parent)
        case ["remove", node]:
            return ev.Remove(node=node)
        case ["note", *words] if words:
            return ev.Remark(text=" ".join(words))
        case _:
            return None


def _suggested_type(state: State) -> ev.Event | None:
    """Change the type to what the verdict suggests, where it does."""
    kinds = [finding.suggests for finding in state.verdict.findings if finding.suggests] if state.verdict else []
    return ev.ChangeType(node=state.target.node, kind=kinds[0]) if kinds and state.target else None
