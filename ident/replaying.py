"""A session played again: recorded datagrams through the real decoders and buffers, events through the workflow."""

import dataclasses
import gc
import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ident.decoding import Decoding, decoding
from ident.log import log_of, start_of
from ident.model import model_text, parse_model
from ident.placing import finished_model
from ident.preparing import prepare_fits
from ident.retelling import Workflow
from ident.takes import TakeData
from ident.tree import KinematicTree
from ident.workflow.events import TakeEnded
from ident.workflow.state import State
from sessions import Session, open_session
from sessions.datagrams import Datagrams
from sessions.replay import Played, play

if TYPE_CHECKING:
    # Imported where it is used: the process that fits does not decode.
    from ident.playback import Playback

LAST_PICTURE_S = 20.0
"""Real seconds that the plot has to draw the end of a replay, which may be over before a window opens."""


@dataclass(frozen=True)
class Replayed:
    """What a replay came to."""

    state: State
    data: dict[int, TakeData]
    tree: KinematicTree
    played: Played
    """What was played, and how long that took with all calculations in between."""
    recorded: str | None
    """Digest of the model that the session saved; None where it saved none."""
    differences: tuple[str, ...]
    """Takes with other samples than then, and verdicts that ask for something else, in a sentence each."""
    incomplete: str = ""
    """What of the session could not be read, in a sentence; empty where all is there."""

    @property
    def digest(self) -> str:
        """SHA-256 of the model's text: equal digests mean equal models, bit for bit."""
        return model_digest(self.tree)


def model_digest(tree: KinematicTree) -> str:
    """SHA-256 of a model's text, without where and when it was saved."""
    return hashlib.sha256(model_text(dataclasses.replace(tree, provenance={})).encode()).hexdigest()


@dataclass(frozen=True)
class PlotSettings:
    """The live plot of a replay."""

    mode: str = "off"
    """``window``, ``png`` or ``off``."""
    file: Path = Path("live.png")
    say: Callable[[str], None] = lambda _: None
    """Told when the plot ends by itself, and why."""


def replay(
    path: Path,
    *,
    speed: float | None,
    from_take: int = 0,
    on_state: Callable[[State], None] = lambda _: None,
    plot: PlotSettings | None = None,
    stop: threading.Event | None = None,
    begun: Decoding | None = None,
) -> Replayed:
    """Play a session; ``speed`` None means as fast as possible. Takes before ``from_take`` are not waited for.

    Whoever has let another process begin to decode all of it hands that over as ``begun``.
    """
    since, settings = time.monotonic(), plot or PlotSettings()
    unwatched = speed is None and settings.mode == "off" and stop is None
    with decoding(path, from_take, wanted=unwatched and begun is None) as anew:
        ahead = begun or anew
        if ahead is not None:
            since = ahead.begun
            session, played, workflow = _played_at_once(ahead, on_state)
        else:
            session = open_session(path)
            played, workflow = _played(session, speed, from_take, on_state, settings, stop)
    tree = finished_model(workflow.state)
    whole = dataclasses.replace(played, real_s=time.monotonic() - since)
    recorded, differences = _recorded_digest(session), tuple(workflow.differences)
    return Replayed(workflow.state, workflow.data, tree, whole, recorded, differences, _incomplete(session))


def _played(
    session: Session,
    speed: float | None,
    from_take: int,
    on_state: Callable[[State], None],
    settings: PlotSettings,
    stop: threading.Event | None,
) -> tuple[Played, Workflow]:
    """Play a session in step with its events, as fast or slowly as is wished, for whoever watches."""
    from ident.playback import Playback

    prepare_fits()
    log = log_of(session)
    playback, begin_ns = Playback(session, log, on_state), start_of(log, from_take)
    if begin_ns is not None:
        play(session, playback.feed, speed=None, t1_ns=begin_ns - 1)
    with _plotted(playback, settings) as feed:
        played = play(session, feed, speed=speed, t0_ns=begin_ns, stop=stop)
        playback.finish()
    return played, playback


def _played_at_once(decoding: Decoding, on_state: Callable[[State], None]) -> tuple[Session, Played, Workflow]:
    """Play a session that nobody watches by two processes; return it with what was read of it.

    One reads and decodes while the other loads what the fits need. Then they share the fits, which the record allows
    to begin before those before them are done.
    """
    # What is loaded now stays, so that searching it for garbage is of no use, here or in the next copy.
    gc.disable()
    prepare_fits()
    gc.freeze()
    gc.enable()
    found = decoding.result()
    workflow = Workflow(found.limits, on_state)
    log = log_of(found.session)
    for ended, windows in zip((event for event in log if isinstance(event, TakeEnded)), found.takes, strict=True):
        workflow.take_in(ended, windows)
    workflow.fold_all(log)
    return found.session, found.played, workflow


@contextmanager
def _plotted(playback: "Playback", settings: PlotSettings) -> Iterator[Callable[[Datagrams], None]]:
    """Show what is fed as a measurement shows it: running takes with their fits, results as they come."""
    if settings.mode == "off":
        yield playback.feed
        return
    from ident.live import Live
    from ident.plot.process import LivePlot

    with (
        Live(playback, playback, playback.limits) as live,
        LivePlot(settings.mode, settings.file, playback.data, goodbye_s=LAST_PICTURE_S) as plot,
    ):
        told = plot.note

        def feed(batch: Datagrams) -> None:
            nonlocal told
            playback.feed(batch)
            plot.show(playback.state, live.track)
            if plot.note != told:
                told = plot.note
                settings.say(told)

        yield feed
        plot.show(playback.state, live.track)
    if plot.note != told:
        settings.say(plot.note)


def _incomplete(session: Session) -> str:
    unreadable = sum(damage.length for damage in session.damage)
    lacks = [f"{unreadable} bytes are unreadable"] if unreadable else []
    lacks += [f"part {number} is missing" for number in session.missing_parts]
    return f"The session is not complete: {', '.join(lacks)}. `ident info` says more." if lacks else ""


def _recorded_digest(session: Session) -> str | None:
    document = session.documents().get("model")
    if document is None:
        return None
    return model_digest(parse_model(json.dumps(document), f"the model in {session.path}"))
