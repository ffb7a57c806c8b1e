"""One measurement with everything it needs: clock, session, rig, runner. Always closed in the right order."""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from devices.clock import HostClock
from ident.config import RigConfig
from ident.output import ModelWriter, prepare_folder
from ident.preparing import Preparation
from ident.rig import Rig, describe
from ident.runner import Runner
from ident.takes import TakeData
from ident.workflow.state import State
from sessions import Recorder, open_session

TURN_S = 0.001
"""Seconds after which a busy thread lets another one run."""
FULL_SEARCH_EVERY = 200
"""Searches for young garbage between two full ones, which take 10 ms; twenty times Python's own choice, and still one
a minute."""


@dataclass(frozen=True)
class Setup:
    """What a measurement is made with."""

    config: RigConfig
    session: Path
    """The session's file; an existing one is refused unless it is replaced or resumed."""
    folder: Path
    """Where model, exports and figure go."""
    speed: float = 1.0
    metadata: Mapping[str, Any] = field(default_factory=dict)
    overwrite: bool = False
    resume: tuple[State, dict[int, TakeData]] | None = None


@dataclass(frozen=True)
class Measurement:
    """A measurement under way."""

    runner: Runner
    rig: Rig
    recorder: Recorder
    fits: Preparation
    """Which an installation that is new has to compile first."""


@contextmanager
def measurement(setup: Setup, on_change: Callable[[State], None]) -> Iterator[Measurement]:
    """Open session and rig, run the workflow; on leaving, whatever was recorded is on disk."""
    prepare_folder(setup.folder)
    prepare_folder(setup.session.parent)
    fits = Preparation()
    with (
        _garbage_seldom_searched_for(),
        _threads_take_turns_quickly(),
        _opened(setup, on_change, fits) as opened,
    ):
        yield opened


@contextmanager
def _garbage_seldom_searched_for() -> Iterator[None]:
    """Leave what was loaded so far out of garbage collection, which else holds up every thread for a tenth of a second.

    All the libraries are in memory by now and stay there; searching them again and again finds nothing. What is made
    later, the wizard's screens above all, is searched seldom.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*before[:2], FULL_SEARCH_EVERY)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@contextmanager
def _threads_take_turns_quickly() -> Iterator[None]:
    """Let a key that was pressed wait one millisecond instead of five for each thread that is busy."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def _opened(setup: Setup, on_change: Callable[[State], None], fits: Preparation) -> Iterator[Measurement]:
    # What comes now must lie after all that the session holds, or its takes would mix with those of before.
    before_ns = 0 if setup.resume is None else open_session(setup.session).t1_ns
    clock = HostClock(setup.speed, not_before_ns=before_ns + 1)
    with Recorder(
        setup.session,
        metadata=dict(setup.metadata),
        now_ns=clock.now_ns,
        overwrite=setup.overwrite,
        resume=setup.resume is not None,
    ) as recorder:
        runner = Runner(
            recorder,
            ModelWriter(setup.folder, _provenance(setup, clock.now_ns())),
            setup.config.limits(),
            now_ns=clock.now_ns,
            on_change=on_change,
            fits=fits,
        )
        with Rig(setup.config, clock, runner.listeners()) as rig:
            recorder.document("rig", describe(rig))
            runner.start(rig, *(setup.resume or ()))
            try:
                yield Measurement(runner, rig, recorder, fits)
            finally:
                runner.stop()


def _provenance(setup: Setup, now_ns: int) -> dict[str, str]:
    return {
        "session": setup.session.name,
        "rig": setup.config.name,
        "date": datetime.fromtimestamp(now_ns * 1e-9, UTC).isoformat(timespec="seconds"),
        "software": f"ident {version('ident')}",
    }
