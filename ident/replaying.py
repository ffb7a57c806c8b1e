"""A session played again: recorded datagrams through the real decoders and buffers, events through the workflow."""

import dataclasses
import hashlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devices.buffer import PoseBuffer, WrenchBuffer
from devices.clock import HostClock
from devices.netft import SensorCalibration
from fitting import warm_up
from ident.aside import aside, worthwhile
from ident.config import RigConfig
from ident.drivers import natnet_config, netft_config
from ident.errors import IdentError
from ident.identify import build_tree
from ident.model import model_text, parse_model
from ident.reprocess import along_the_record, answered_again, answered_ahead, as_recorded
from ident.resume import recorded_rig
from ident.takes import TakeData, take_data
from ident.tree import KinematicTree
from ident.workflow.events import Event, TakeEnded, event_from_dict
from ident.workflow.machine import step
from ident.workflow.quality import QualityLimits
from ident.workflow.state import State
from sessions import Session, open_session
from sessions.datagrams import Datagrams
from sessions.decode import Decoders
from sessions.replay import Played, play

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

    @property
    def digest(self) -> str:
        """SHA-256 of the model's text: equal digests mean equal models, bit for bit."""
        return model_digest(self.tree)


def model_digest(tree: KinematicTree) -> str:
    """SHA-256 of a model's text, without where and when it was saved."""
    return hashlib.sha256(model_text(dataclasses.replace(tree, provenance={})).encode()).hexdigest()


class Workflow:
    """The workflow as far as it has come again, with every answer of the workstation computed anew."""

    def __init__(self, limits: QualityLimits, on_state: Callable[[State], None]) -> None:
        self.state = State()
        self.data: dict[int, TakeData] = {}
        self.differences: list[str] = []
        """Takes with other samples, and answers that would have led elsewhere; the recorded ones led on."""
        self.limits = limits
        self._on_state = on_state

    def fold(self, recorded: Event, answer: Event | None = None) -> Event:
        """Take in the next event, with the new answer where that is known already; return what took effect."""
        again = answer or answered_again(recorded, self.state, self.data, self.limits)
        event, differs = along_the_record(recorded, again)
        if differs:
            self.differences.append(differs)
        self.state, _ = step(self.state, event)
        self._on_state(self.state)
        return event


class Playback(Workflow):
    """A session while it is played: the decoders' buffers, and the workflow as far as it has come.

    Each event takes effect when the datagrams of its time have been fed, as it did in the measurement: so the buffers
    need to hold no more than then, and whoever watches sees everything at its time.
    """

    def __init__(self, session: Session, log: Iterable[Event], on_state: Callable[[State], None]) -> None:
        self._config = recorded_rig(session)
        super().__init__(self._config.limits(), on_state)
        self._decoders = _decoders(session, self._config)
        self._waiting = deque(log)

    @property
    def clock(self) -> HostClock:
        """The session's time."""
        return self._decoders.clock

    @property
    def body(self) -> PoseBuffer:
        """Poses of the gripper, as far as they were played."""
        return self._decoders.buffers[self._config.mocap.body]

    @property
    def reference(self) -> PoseBuffer | None:
        """Poses of the body that is fixed to the object, where one was tracked."""
        name = self._config.mocap.reference
        return None if name is None else self._decoders.buffers[name]

    @property
    def wrenches(self) -> WrenchBuffer | None:
        """Loads, where there was a sensor."""
        return None if self._config.ft is None else self._decoders.wrenches

    def feed(self, batch: Datagrams) -> None:
        """Take in datagrams, and the events up to the last of them."""
        self._decoders.feed(batch)
        self._advance(int(batch.t_ns[-1]))

    def finish(self) -> None:
        """Take in what came after the last datagram."""
        self._decoders.finish()
        self._advance(None)

    def _advance(self, until_ns: int | None) -> None:
        while self._waiting and (until_ns is None or self._waiting[0].t_ns <= until_ns):
            recorded = self._waiting.popleft()
            if isinstance(recorded, TakeEnded):
                self._take_in(recorded)
            self.fold(recorded)

    def _take_in(self, ended: TakeEnded) -> None:
        window = self.body.window(ended.t0_ns, ended.t1_ns)
        reference = None if self.reference is None else self.reference.window(ended.t0_ns, ended.t1_ns)
        data = take_data(window, ended.t0_ns, ended.t1_ns, reference)
        if data.samples != ended.samples:
            self.differences.append(
                f"take {ended.take + 1}: {ended.samples} samples had been taken in when it was closed, now it has "
                f"{data.samples}; the computer was busy, or the session is damaged"
            )
        self.data[ended.take] = data


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
) -> Replayed:
    """Play a session; ``speed`` None means as fast as possible. Takes before ``from_take`` are not waited for."""
    begun = time.monotonic()
    session = open_session(path)
    log = [event_from_dict(entry.content) for entry in session.events()]
    if not log:
        raise IdentError(f"{path} holds no workflow events; `ident replay --serve` can still stream its datagrams.")
    begin_ns = _start(log, from_take)
    settings = plot or PlotSettings()
    if speed is None and settings.mode == "off" and stop is None and worthwhile():
        played, workflow = _played_at_once(session, log, begin_ns, on_state)
    else:
        workflow = playback = Playback(session, log, on_state)
        if begin_ns is not None:
            play(session, playback.feed, speed=None, t1_ns=begin_ns - 1)
        with _plotted(playback, settings) as feed:
            played = play(session, feed, speed=speed, t0_ns=begin_ns, stop=stop)
            playback.finish()
    tree = build_tree(workflow.state, accepted_only=True)
    whole = dataclasses.replace(played, real_s=time.monotonic() - begun)
    recorded, differences = _recorded_digest(session), tuple(workflow.differences)
    return Replayed(workflow.state, workflow.data, tree, whole, recorded, differences)


def _played_at_once(
    session: Session, log: list[Event], begin_ns: int | None, on_state: Callable[[State], None]
) -> tuple[Played, Workflow]:
    """Play a session that nobody watches by two processes.

    One decodes while the other loads what the fits need; then they share the fits, which the record allows to begin
    before those before them are done.
    """

    def decoded() -> tuple[Played, dict[int, TakeData], list[str]]:
        playback = Playback(session, [event for event in log if isinstance(event, TakeEnded)], lambda _: None)
        if begin_ns is not None:
            play(session, playback.feed, speed=None, t1_ns=begin_ns - 1)
        played = play(session, playback.feed, speed=None, t0_ns=begin_ns)
        playback.finish()
        return played, playback.data, playback.differences

    workflow = Workflow(recorded_rig(session).limits(), on_state)
    with aside(decoded) as takes:
        warm_up()
        played, workflow.data, workflow.differences = takes()
    answers = answered_ahead(log, workflow.data, workflow.limits)
    along = True
    for i, recorded in enumerate(log):
        event = workflow.fold(recorded, answers.get(i) if along else None)
        along = along and (event is recorded or as_recorded(event, recorded))
    return played, workflow


@contextmanager
def _plotted(playback: Playback, settings: PlotSettings) -> Iterator[Callable[[Datagrams], None]]:
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


def _recorded_digest(session: Session) -> str | None:
    document = session.documents().get("model")
    if document is None:
        return None
    return model_digest(parse_model(json.dumps(document), f"the model in {session.path}"))


def _start(log: list[Event], from_take: int) -> int | None:
    if not from_take:
        return None
    for event in log:
        if isinstance(event, TakeEnded) and event.take + 1 == from_take:
            return event.t0_ns
    last = max((e.take + 1 for e in log if isinstance(e, TakeEnded)), default=0)
    raise IdentError(f"There is no finished take {from_take}; the session has takes 1 to {last}.")


def recorded_calibration(session: Session) -> SensorCalibration | None:
    """Counts and units of the force/torque sensor that a session was recorded with."""
    told = session.documents().get("rig", {}).get("ft_calibration")
    return None if told is None else SensorCalibration(**{**told, "bias_counts": tuple(told["bias_counts"])})


def _decoders(session: Session, config: RigConfig) -> Decoders:
    return Decoders(
        natnet_config(config.mocap),
        netft_config(config.ft) if config.ft is not None else None,
        recorded_calibration(session),
        speed=float(session.documents()["rig"].get("speed", 1.0)),
    )
