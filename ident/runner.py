"""The shell around the reducer: performs its effects, feeds it events, owns the clock.

Events come from three sides, the operator, the devices and the calculations, and are folded in one thread in
the order in which they arrive. Each is written to the session before it takes effect.
"""

import json
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from devices.buffer import PoseBuffer, WrenchBuffer
from devices.clock import HostClock
from devices.errors import Stale
from devices.samples import DeviceEvent, Press
from ident.joints.problems import ModelError
from ident.model import model_text
from ident.placing import finished_model
from ident.preparing import Preparation
from ident.reprocess import fitted_event
from ident.rig import Listeners, Rig
from ident.steps import calibrated_event
from ident.takes import TakeData, take_data
from ident.workflow import effects as fx
from ident.workflow import events as ev
from ident.workflow.machine import pending, step
from ident.workflow.quality import QualityLimits
from ident.workflow.state import TIP, WEIGHT, State, Target, step_of
from ident.workflow.state import Take as WorkflowTake
from sessions import Recorder, SessionError, Take

DATA_TIMEOUT_S = 1.0
"""Real seconds to wait for the last frames of a take before it is closed without them."""


class Hand(Protocol):
    """Whoever moves the gripper when no person does: the simulated operator."""

    def begin(self, take: int, target: Target, state: State) -> None:
        """Start the movement that a take asks for; a ``Proceed`` is posted when it is done."""

    def start(self, take: int) -> int | None:
        """Host time at which the movement starts, where it is known already."""

    def window(self, take: int) -> tuple[int, int] | None:
        """Exact host times of the movement, where they are known."""


class Saver(Protocol):
    """Writes the finished model."""

    def __call__(self, state: State, data: dict[int, TakeData]) -> Sequence[str]:
        """Return the paths of what was written; raises OSError."""


class Runner:
    """Runs one measurement. Post events from any thread; listen for states."""

    def __init__(
        self,
        recorder: Recorder,
        save: Saver,
        limits: QualityLimits,
        *,
        now_ns: Callable[[], int],
        on_change: Callable[[State], None],
        fits: Preparation | None = None,
    ) -> None:
        self.state = State()
        self.data: dict[int, TakeData] = {}
        self.hand: Hand | None = None
        self.offers: tuple[str, ...] = ()
        """Calibrations beside the tip that the operator is offered, where the rig can have them."""
        self._rig: Rig | None = None
        self._recorder = recorder
        self._save = save
        self._limits = limits
        self._now_ns = now_ns
        self._on_change = on_change
        self._fits = fits
        self._events: queue.SimpleQueue[ev.Event | None] = queue.SimpleQueue()
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="fit")
        self._thread = threading.Thread(target=self._run, name="runner", daemon=True)
        self._failure: BaseException | None = None

    # For the shells.

    def listeners(self) -> Listeners:
        """What the devices call: everything goes into the session, losses also to the operator."""
        return Listeners(
            datagram=self._recorded(self._recorder.datagram),
            poses=self._recorded(self._recorder.poses),
            wrenches=self._recorded(self._recorder.wrench_columns),
            event=self._device_event,
            press=self._press,
        )

    def start(self, rig: Rig, state: State | None = None, data: dict[int, TakeData] | None = None) -> None:
        """Begin with an open rig; with a state and its takes, go on where a session stopped."""
        self._rig = rig
        if state is not None:
            self.state = state
            self.data = dict(data or {})
        self._thread.start()
        if state is not None:
            self.post(ev.Interrupted())

    def post(self, event: ev.Event) -> None:
        """Hand in an event; one without a time gets the present."""
        self._events.put(event if event.t_ns else replace(event, t_ns=self._now_ns()))

    def start_of(self, take: WorkflowTake) -> int | None:
        """Host time at which the movement of a take starts; None where whoever makes it is still on the way."""
        return take.t0_ns if self.hand is None else self.hand.start(take.id)

    def stop(self) -> None:
        """End the runner's threads; raises what made the recorder fail."""
        self._events.put(None)
        if self._thread.is_alive():
            self._thread.join()
        if self._fits is not None:
            self._fits.stop()
        self._worker.shutdown(wait=True, cancel_futures=True)
        self.raise_failure()

    @property
    def failed(self) -> bool:
        """Whether something ended the measurement."""
        return self._failure is not None

    def raise_failure(self) -> None:
        """Raise what ended the measurement, if something did."""
        if self._failure is not None:
            raise self._failure

    # The runner's thread.

    def _run(self) -> None:
        try:
            while (event := self._events.get()) is not None:
                self._take_in(event)
        except (SessionError, OSError) as error:
            self._fail(error)

    def _take_in(self, event: ev.Event) -> None:
        resumed = isinstance(event, ev.Interrupted)
        self._recorder.event(event.t_ns, event.to_dict())
        # On disk before anybody sees its consequence: whatever the operator was shown is there after a crash.
        self._recorder.sync()
        self.state, effects = step(self.state, event)
        self._keep_documents(event)
        self._on_change(self.state)
        for effect in (*effects, *(pending(self.state) if resumed else ())):
            self._perform(effect)

    def _keep_documents(self, event: ev.Event) -> None:
        if isinstance(event, ev.Described):
            self._recorder.document("object", self.state.plan.to_dict(), event.t_ns)
        elif isinstance(event, ev.Calibrated | ev.CalibrationGiven):
            self._recorder.document("calibration" if event.what == TIP else event.what, event.calibration, event.t_ns)
        elif isinstance(event, ev.Saved):
            self._recorder.document("model", json.loads(model_text(finished_model(self.state))), event.t_ns)
        elif isinstance(event, ev.TakeEnded):
            take = self.state.takes[event.take]
            self._recorder.take(
                Take(
                    number=take.id + 1,
                    name=take.target.node or take.target.purpose,
                    kind=take.target.purpose,
                    t0_ns=take.t0_ns,
                    t1_ns=take.t1_ns,
                    info={"samples": take.samples, "measured": take.measured, "used": take.used},
                )
            )

    def _perform(self, effect: fx.Effect) -> None:
        state = self.state
        match effect:
            case fx.CheckRig():
                self._in_background(self._check_rig)
            case fx.BeginTake(take, target):
                if self.hand is not None:
                    self.hand.begin(take, target, state)
            case fx.AbandonTake():
                pass  # Its data are in the session already; nothing has to be collected.
            case fx.EndTake(take, t1_ns):
                self._in_background(lambda: self._collect(state, take, t1_ns))
            case fx.SolveCalibration(work, what):
                self._in_background(lambda: self._calibrate(state, work, what), work)
            case fx.SolveNode(work, node):
                self._in_background(lambda: self._fit(state, work, node), work)
            case fx.SaveModel():
                self._in_background(lambda: self._save_model(state))

    def _in_background(self, job: Callable[[], ev.Event], work: int | None = None) -> None:
        def done(future: Future[ev.Event]) -> None:
            if future.cancelled():
                return
            error = future.exception()
            if error is None:
                self.post(future.result())
            elif work is not None and isinstance(error, ArithmeticError | ValueError):
                # Mathematics that broke on strange data must not end an afternoon's measurement.
                self.post(ev.Failed(work=work, reason=f"The calculation failed: {error}. The take is kept."))
            else:
                self._fail(error)

        self._worker.submit(job).add_done_callback(done)

    # The worker's thread.

    def _check_rig(self) -> ev.Event:
        if self._rig is None:
            return ev.RigChecked(problems=("The rig is not open.",))
        return ev.RigChecked(
            problems=tuple(s.problem for s in self._rig.check() if s.problem),
            offers=tuple(name for name in self.offers if name != WEIGHT or self._rig.wrenches is not None),
            gravity=self._rig.config.gravity,
        )

    def _collect(self, state: State, take: int, t1_ns: int) -> ev.Event:
        """The data of a take; of one that was stopped before a crash, those that its session holds."""
        t0_ns = state.takes[take].t0_ns
        data = self.data.get(take)
        if data is None:
            exact = self.hand.window(take) if self.hand is not None else None
            t0_ns, t1_ns = exact or (t0_ns, t1_ns)
            data = self._received(t0_ns, t1_ns, loads=step_of(state.takes[take].target) == WEIGHT)
        self.data[take] = data
        return ev.TakeEnded(
            take=take,
            t0_ns=t0_ns,
            t1_ns=t1_ns,
            samples=data.samples,
            measured=data.measured,
            longest_loss_s=data.longest_loss_s,
            loads=data.known_loads,
        )

    def _received(self, t0_ns: int, t1_ns: int, *, loads: bool) -> TakeData:
        """What the devices sent between two times, as soon as it is complete."""
        rig = self._rig
        if rig is None:
            raise SessionError("There is no rig to collect a take from.")
        if loads and rig.wrenches is not None:
            _wait_for_data(rig.clock, (rig.body, rig.wrenches), t1_ns)
            return take_data(rig.body.window(t0_ns, t1_ns), t0_ns, t1_ns, None, rig.wrenches.window(t0_ns, t1_ns))
        _wait_for_data(rig.clock, (rig.body,), t1_ns)
        reference = rig.reference
        return take_data(
            rig.body.window(t0_ns, t1_ns),
            t0_ns,
            t1_ns,
            None if reference is None else reference.window(t0_ns, t1_ns),
        )

    def _calibrate(self, state: State, work: int, what: str) -> ev.Event:
        self._wait_for_fits()
        return calibrated_event(state, what, work, self.data)

    def _fit(self, state: State, work: int, node: str) -> ev.Event:
        self._wait_for_fits()
        return fitted_event(state, node, work, self.data, self._limits)

    def _wait_for_fits(self) -> None:
        if self._fits is not None and not self._fits.wait():
            raise ValueError("the measurement was ended before the fits were compiled")

    def _save_model(self, state: State) -> ev.Event:
        try:
            return ev.Saved(files=tuple(self._save(state, self.data)))
        except (OSError, ModelError) as error:
            return ev.SaveFailed(reason=f"The model could not be saved: {error} Then save again.")

    # The devices' threads.

    def _recorded(self, record: Callable[..., None]) -> Callable[..., None]:
        def guarded(*values: Any) -> None:
            if self._failure is not None:
                return
            try:
                record(*values)
            except SessionError as error:
                self._fail(error)

        return guarded

    def _device_event(self, event: DeviceEvent) -> None:
        self._recorded(self._recorder.device_event)(event)
        if event.kind in ("lost", "resumed"):
            self.post(
                ev.DeviceChanged(t_ns=event.t_ns, device=event.device, lost=event.kind == "lost", message=event.message)
            )

    def _press(self, press: Press) -> None:
        self._recorded(self._recorder.press)(press)
        self.post(ev.Redo(t_ns=press.t_ns) if press.long else ev.Proceed(t_ns=press.t_ns))

    def _fail(self, error: BaseException) -> None:
        """A failing recorder or a defect stops the measurement: nothing goes on unrecorded."""
        if self._failure is None:
            self._failure = error
        self._events.put(None)
        self._on_change(self.state)


def _wait_for_data(clock: HostClock, buffers: Sequence[PoseBuffer | WrenchBuffer], t1_ns: int) -> None:
    """Let the samples up to the end of a take arrive; a silent device is not waited for."""
    deadline = time.monotonic() + DATA_TIMEOUT_S
    while time.monotonic() < deadline:
        with suppress(Stale):
            if all(buffer.latest(clock.now_ns(), 10**18).t_ns >= t1_ns for buffer in buffers):
                return
        time.sleep(0.005)
