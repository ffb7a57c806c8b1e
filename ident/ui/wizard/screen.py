"""The wizard's main screen: draws states, turns keys into events, and keeps nothing that a state does not say."""

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from ident.live import LiveFit, LiveStatus, fit_of_result
from ident.ui.wizard import views
from ident.ui.wizard.big import big_text
from ident.ui.wizard.commands import COMMANDS
from ident.ui.wizard.dialogs import Answers, Confirm, Form, Help, Menu
from ident.workflow import events as ev
from ident.workflow.state import Phase, State

if TYPE_CHECKING:
    from ident.ui.wizard.app import WizardApp

EVENTS: dict[str, type[ev.Event]] = {
    "proceed": ev.Proceed,
    "redo": ev.Redo,
    "add_take": ev.AddTake,
    "accept": ev.Accept,
    "skip": ev.Skip,
    "back": ev.Back,
    "limits": ev.MeasureLimits,
}
SWITCHES = (("e", "end takes by themselves: on or off"), ("d", "light or dark"))


class MainScreen(Screen[None]):
    """One instruction, the object's tree, the fit, the devices, the keys."""

    app: "WizardApp"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "say('proceed')", show=False),
        Binding("r", "say('redo')", show=False),
        Binding("t", "say('add_take')", show=False),
        Binding("a", "say('accept')", show=False),
        Binding("s", "say('skip')", show=False),
        Binding("b", "say('back')", show=False),
        Binding("l", "say('limits')", show=False),
        Binding("y", "suggested_type", show=False),
        Binding("p", "pause", show=False),
        Binding("m,colon", "menu", show=False),
        Binding("question_mark,f1", "help", show=False),
        Binding("q", "leave", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._status: LiveStatus | None = None
        self._last_fit: LiveFit | None = None
        self._last_name = ""

    @property
    def state(self) -> State:
        """The state on the screen."""
        return self.app.state

    def compose(self) -> ComposeResult:
        """Lay out the parts."""
        yield Static(id="header")
        with Vertical(id="instruction"):
            yield Static(id="headline", markup=False)
            yield Static(id="body", markup=False)
        with Horizontal(id="middle"):
            with VerticalScroll(id="object", can_focus=False) as box:
                box.border_title = "Object"
                yield Static(id="tree")
            with VerticalScroll(id="fit", can_focus=False):
                yield Static(id="numbers")
        yield Static(id="notice", markup=False)
        yield Static(id="status")
        yield Static(id="keys")

    def on_mount(self) -> None:
        """Draw the first state."""
        self.show(self.state)

    def on_resize(self, event: events.Resize) -> None:
        """Leave out what does not fit."""
        width, height = event.size
        self.set_class(width < 64, "narrow")
        self.set_class(height < 16, "low")
        self.set_class(height < 8, "tiny")
        self.call_after_refresh(self.show, self.state)

    # Drawing.

    def show(self, state: State) -> None:
        """Draw a state."""
        if not self.is_mounted:
            return
        name = state.target.node if state.target is not None else ""
        result = state.result(name) or (state.results[-1] if state.results else None)
        self._last_fit = fit_of_result(result) if result is not None else None
        self._last_name = result.node if result is not None else ""
        rows, current = views.object_rows(state)
        self.query_one("#tree", Static).update(Content("\n").join(rows))
        self.query_one("#object", VerticalScroll).scroll_to(y=max(0, current - 2), animate=False)
        body = views.body(state)
        self.query_one("#body", Static).update(body)
        self.query_one("#body", Static).display = bool(body.plain)
        self.query_one("#notice", Static).update(f"! {state.notice}" if state.notice else "")
        self.query_one("#keys", Static).update(views.key_line(state))
        self.show_live(self._status)

    def show_live(self, status: LiveStatus | None) -> None:
        """Draw what changes while nothing happens: devices, the running take, the headline."""
        if not self.is_mounted:
            return
        self._status = status
        state, limits = self.state, self.app.limits
        self.query_one("#header", Static).update(views.header(state, status, self.size.width))
        self._show_headline(*views.headline(state, status))
        self.query_one("#status", Static).update(views.status_line(status, self.app.notes()))
        take = status.take if status is not None else None
        room = self.query_one("#fit", VerticalScroll).content_size.width
        if take is not None and state.phase is Phase.RECORDING:
            title = f"Take {take.take + 1}"
            rows = [*views.fit_rows(take.fit, limits, room), views.take_summary(take, limits, room)]
        else:
            title = f"Fit of {self._last_name}" if self._last_name else "Fit"
            rows = views.fit_rows(self._last_fit, limits, room) if self._last_fit else []
            if self._last_fit is not None:
                rows.append(views.verdict_line(self._last_fit))
        self.query_one("#fit", VerticalScroll).border_title = title
        self.query_one("#numbers", Static).update(Content("\n").join(rows))

    def _show_headline(self, text: str, style: str) -> None:
        width, height = self.size
        large = big_text(text, width - 4, max(0, min(height - 17, height // 3)))
        lines = "\n".join(large) if large else text[:1].upper() + text[1:]
        self.query_one("#headline", Static).update(Content.assemble((lines, style)))

    # Keys.

    def action_say(self, word: str) -> None:
        """Post one of the operator's events."""
        if word == "proceed" and self.state.phase is Phase.FINISHED:
            self.app.exit(0)
            return
        self.app.machine.post(EVENTS[word]())

    def action_pause(self) -> None:
        """Pause, or go on."""
        self.app.machine.post(ev.Resume() if self.state.paused else ev.Pause())

    def action_suggested_type(self) -> None:
        """Take the type that the movement looks like."""
        state = self.state
        kinds = [f.suggests for f in state.verdict.findings if f.suggests] if state.verdict is not None else []
        if kinds and state.target is not None and state.phase is Phase.VERDICT:
            self.app.machine.post(ev.ChangeType(node=state.target.node, kind=kinds[0]))

    def action_help(self) -> None:
        """Show the help."""
        self.app.push_screen(Help())

    def action_leave(self) -> None:
        """Quit, after a question where something is under way."""
        if self.state.phase is Phase.FINISHED or not self.state.takes:
            self.app.leave()
            return
        text = f"{self.app.kept()}\n`ident resume` goes on at this step."

        def answered(yes: bool | None) -> None:
            if yes:
                self.app.leave()

        self.app.push_screen(Confirm("Quit?", text), answered)

    def action_menu(self) -> None:
        """Offer the seldom commands."""
        items = [(c.letter, c.text) for c in COMMANDS] + list(SWITCHES)
        self.app.push_screen(Menu("More", items), self._chosen)

    def _chosen(self, letter: str | None) -> None:
        if letter == "e":
            self.app.toggle_auto_end()
        elif letter == "d":
            self.app.toggle_dark()
        command = next((c for c in COMMANDS if c.letter == letter), None)
        if command is None:
            return

        def answered(answers: Answers | None) -> None:
            if answers is not None:
                self.app.machine.post(command.event(answers))

        title = command.text[:1].upper() + command.text[1:]
        self.app.push_screen(Form(title, command.fields(self.state), command.problem), answered)
