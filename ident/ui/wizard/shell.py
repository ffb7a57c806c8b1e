"""The wizard around one measurement: live looks, plot, terminal; the same surface as the line mode's shell."""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ident.live import Live
from ident.measure import Measurement
from ident.plot.process import LivePlot
from ident.ui.wizard.app import StateChanged, WizardApp
from ident.workflow import events as ev
from ident.workflow.plan import Plan
from ident.workflow.state import Phase, State
from sessions import Recorder


def wanted() -> bool:
    """Whether ``--ui auto`` means the wizard: a person at a terminal that can do more than print lines."""
    terminal = os.environ.get("TERM", "") not in ("", "dumb")
    return terminal and sys.stdout.isatty() and possible()


def possible() -> bool:
    """Whether the wizard can be seen and heard: it reads standard input, and Textual draws on standard error."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class WizardShell:
    """Guides one measurement on the whole screen; ``run`` returns the exit status."""

    def __init__(self, *, plot: str = "off", plot_file: Path | None = None, auto_end: bool = False) -> None:
        self._plot = plot
        self._plot_file = plot_file
        self._auto_end = auto_end
        self._app: WizardApp | None = None
        self.live: Live | None = None
        """The looks at the running take, while the wizard is open."""

    def on_change(self, state: State) -> None:
        """Give the wizard a new state; from any thread."""
        if self._app is not None:
            self._app.post_message(StateChanged(state))

    def run(self, measurement: Measurement, plan: Plan | None) -> int:
        """Guide one measurement to its end, or until the operator leaves."""
        with self.opened(measurement, plan) as app:
            app.run()
        measurement.runner.raise_failure()
        if measurement.runner.state.phase is Phase.FINISHED:
            return 0
        with contextlib.suppress(OSError):  # Where the terminal is gone, nobody is there to be told.
            print(f"Stopped. {app.kept()}", flush=True)
        return 1

    @contextlib.contextmanager
    def opened(self, measurement: Measurement, plan: Plan | None) -> Iterator[WizardApp]:
        """Give the application, ready to be run, with the live looks and the plot that belong to it."""
        runner = measurement.runner
        limits = measurement.rig.config.limits()
        with (
            Live(measurement.rig, runner, limits, runner.start_of, measurement.fits) as live,
            LivePlot(self._plot, self._plot_file, runner.data) as plot,
        ):
            app = WizardApp(
                runner,
                live.status,
                limits,
                auto_end=self._auto_end,
                dark=_dark(),
                on_look=lambda _: plot.show(runner.state, live.track),
                helpers=lambda: (_disk(measurement.recorder), live.note, plot.note),
            )
            self._app, self.live = app, live
            if runner.state.phase is Phase.DESCRIBE and plan is not None:
                runner.post(ev.Described(plan=plan.to_dict()))
            try:
                yield app
            finally:
                self._app = self.live = None


def _disk(recorder: Recorder) -> str:
    """How much room is left, where it runs short."""
    health = recorder.health()
    return f"disk: {health.free_bytes / 1e9:.1f} GB left" if health.warning else ""


def _dark() -> bool:
    """Follow the terminal where it tells its background (``COLORFGBG=15;0``); dark otherwise."""
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    return background not in ("7", "15")
