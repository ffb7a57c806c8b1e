"""The wizard's main screen: draws states, turns keys into events, and keeps nothing that a state does not say."""

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen

from ident.live import LiveFit, LiveStatus, fit_of_result
from ident.ui.wizard import views
from ident.ui.wizard.big import big_text
from ident.ui.wizard.commands import COMMANDS
from ident.ui.wizard.dialogs import Answers, Confirm, Form, Help, Menu
from ident.ui.wizard.part import Part
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
    "mark": ev.MarkPoints,
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
        Binding("o", "say('mark')", show=False),
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
        # Held here and not looked up, so that a late look at the devices finds them even while the screen closes.
        self._header = Part(id="header", one_row=True)
        self._headline = Part(id="headline")
        self._body = Part(id="body")
        self._object = VerticalScroll(id="object", can_focus=False)
        self._object.border_title = "Object"
        self._tree = Part(id="tree")
        self._fit = VerticalScroll(id="fit", can_focus=False)
        self._numbers = Part(id="numbers")
        self._notice = Part(id="notice", one_row=True)
        self._devices = Part(id="status", one_row=True)
        self._keys = Part(id="keys")

    @property
    def state(self) -> State:
        """The state on the screen."""
        return self.app.state

    def compose(self) -> ComposeResult:
        """Lay out the parts."""
        yield self._header
        with Vertical(id="instruction"):
            yield self._headline
            yield self._body
        with Horizontal(id="middle"):
            with self._object:
                yield self._tree
            with self._fit:
                yield self._numbers
        with Vertical(id="foot"):
            yield self._notice
            yield self._devices
            yield self._keys

    def on_mount(self) -> None:
        """Draw the first state."""
        self.show()

    def on_resize(self, event: events.Resize) -> None:
        """Leave out what does not fit."""
        width, height = event.size
        self.set_class(width < 64, "narrow")
        self.set_class(height < 16, "low")
        self.set_class(height < 12, "flat")
        self.set_class(height < 8, "tiny")
        self.call_after_refresh(self.show)

    # Drawing.

    def show(self) -> None:
        """Draw the present state."""
        if not self.is_mounted:
            return
        state = self.state
        self.set_class(state.phase is Phase.RECORDING, "recording")
        name = state.target.node if state.target is not None else ""
        result = state.result(name) or (state.results[-1] if state.results else None)
        self._last_fit = fit_of_result(result) if result is not None else None
        self._last_name = result.node if result is not None else ""
        rows, current = views.object_rows(state)
        self._tree.show(Content("\n").join(rows))
        self._object.scroll_to(y=max(0, current - 2), animate=False)
        body = views.body(state)
        self._body.show(body)
        self._body.display = bool(body.plain)
        self._keys.show(views.key_line(views.keys_now(state), self.size.width))
        self.show_live(self._status)

    def show_live(self, status: LiveStatus | None) -> None:
        """Draw what changes while nothing happens: devices, the running take, the headline."""
        if not self.is_mounted:
            return
        self._status = status
        state, limits = self.state, self.app.limits
        self._header.show(views.header(state, status, self.size.width))
        self._show_headline(*views.headline(state, status))
        self._notice.show(views.notice_line(state, self.app.notes()))
        self._devices.show(views.status_line(status, self.size.width))
        take = status.take if status is not None else None
        room = self._fit.content_size.width
        if take is not None and state.phase is Phase.RECORDING:
            title = f"Take {take.take + 1}"
            rows = [*views.fit_rows(take.fit, limits, room), views.take_summary(take, limits, room)]
        else:
            title = f"Fit of {self._last_name}" if self._last_name else "Fit"
            rows = views.fit_rows(self._last_fit, limits, room) if self._last_fit else []
            if self._last_fit is not None and state.phase is not Phase.VERDICT:
                rows.append(views.verdict_line(self._last_fit))
        if self._fit.border_title != title:
            self._fit.border_title = title
        self._numbers.show(Content("\n").join(rows))

    def _show_headline(self, text: str, style: str) -> None:
        width, height = self.size
        large = big_text(text, width - 4, max(0, min(height - 17, height // 3)))
        lines = "\n".join(large) if large else text[:1].upper() + text[1:]
        self._headline.show(Content.assemble((lines, style)))

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
