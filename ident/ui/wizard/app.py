"""The Textual application: receives states from the runner, looks at the devices, shows the right screen."""

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import ClassVar, Protocol

from textual.app import App
from textual.binding import Binding, BindingType
from textual.message import Message

from ident.live import LiveStatus, TakeLive, finished
from ident.ui.wizard.describe import DescribeScreen
from ident.ui.wizard.screen import MainScreen
from ident.ui.wizard.terminal import Terminal
from ident.ui.wizard.views import unseen
from ident.workflow import events as ev
from ident.workflow.quality import QualityLimits
from ident.workflow.state import Phase, State
from ident.workflow.texts import kept

LOOK_S = 0.1
"""Real seconds between two looks at devices and fit."""
DARK, LIGHT = "textual-dark", "textual-light"


class Machine(Protocol):
    """The runner, as the wizard sees it."""

    @property
    def state(self) -> State:
        """Present state."""

    @property
    def failed(self) -> bool:
        """Whether the measurement cannot go on."""

    def post(self, event: ev.Event) -> None:
        """Hand in what the operator does."""


class StateChanged(Message):
    """The measurement is in a new state."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state


class WizardApp(App[int]):
    """A shell of the reducer: posts events, renders states."""

    TITLE = "ident"
    CSS_PATH = "wizard.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,ctrl+q", "leave_now", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]

    def __init__(
        self,
        machine: Machine,
        look: Callable[[], LiveStatus],
        limits: QualityLimits,
        *,
        auto_end: bool = False,
        dark: bool = True,
        on_look: Callable[[LiveStatus], None] = lambda _: None,
        helpers: Callable[[], tuple[str, ...]] = lambda: (),
    ) -> None:
        super().__init__(driver_class=Terminal)
        self.machine = machine
        self.limits = limits
        self.state = machine.state
        self.auto_end = auto_end
        self.theme = DARK if dark else LIGHT
        self._look = look
        self._on_look = on_look
        self._helpers = helpers
        self._main = MainScreen()
        self._unseen = False

    def on_mount(self) -> None:
        """Show where the measurement stands, and begin to look."""
        self.push_screen(self._main)
        self._choose_screen()
        self.set_interval(LOOK_S, self._tick)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            # Only the main thread may do this; elsewhere (tests) the signals stay as they are.
            with contextlib.suppress(ValueError, RuntimeError, NotImplementedError):
                loop.add_signal_handler(number, self.leave)

    # States.

    def on_state_changed(self, message: StateChanged) -> None:
        """Draw a new state, and ring where the operator should hear it."""
        before, self.state = self.state, message.state
        if self.machine.failed:
            self.exit(1)
            return
        started_or_stopped = (before.phase is Phase.RECORDING) != (self.state.phase is Phase.RECORDING)
        if started_or_stopped or len(self.state.lost) > len(before.lost):
            self.bell()
        self._choose_screen()
        self._main.show()

    def _choose_screen(self) -> None:
        describing = any(isinstance(screen, DescribeScreen) for screen in self.screen_stack)
        if self.state.phase is Phase.DESCRIBE and not describing:
            self.push_screen(DescribeScreen(self.state.plan))
        elif self.state.phase is not Phase.DESCRIBE and describing:
            while not isinstance(self.screen, MainScreen):
                self.pop_screen()

    # Looks.

    def _tick(self) -> None:
        if self.machine.failed or (isinstance(self._driver, Terminal) and self._driver.lost):
            self.exit(1)
            return
        if not self.screen_stack:
            # The last tick of a wizard that closes: its screens are gone already.
            return
        status = self._look()
        if self.screen is self._main:
            self._main.show_live(status)
        self._on_look(status)
        take = status.take
        lost = take is not None and unseen(take)
        if lost and not self._unseen:
            self.bell()
        self._unseen = lost
        if take is not None:
            self._end_by_itself(take)

    def _end_by_itself(self, take: TakeLive) -> None:
        if self.auto_end and self.state.phase is Phase.RECORDING and finished(take):
            self.machine.post(ev.Proceed(take=take.take))

    # What the operator does to the wizard itself.

    def toggle_auto_end(self) -> None:
        """Let takes end by themselves, or not."""
        self.auto_end = not self.auto_end

    def toggle_dark(self) -> None:
        """Change between light and dark."""
        self.theme = LIGHT if self.theme == DARK else DARK

    def notes(self) -> tuple[str, ...]:
        """What else is worth knowing."""
        return *self._helpers(), "takes end by themselves" if self.auto_end else ""

    def kept(self) -> str:
        """Say what is kept when the operator leaves now."""
        return kept(self.state)

    def leave(self) -> None:
        """End the wizard; the measurement is closed by whoever opened it."""
        self.exit(0 if self.state.phase is Phase.FINISHED else 1)

    def action_leave_now(self) -> None:
        """Ctrl-C: end without a question."""
        self.leave()
