"""A session while it is played: datagrams through the real decoders and buffers, events through the workflow."""

from collections import deque
from collections.abc import Callable, Iterable

from devices.buffer import PoseBuffer, WrenchBuffer
from devices.clock import HostClock
from ident.retelling import Workflow
from ident.streams import Streams
from ident.workflow.events import Event, TakeEnded
from ident.workflow.state import State
from sessions import Session
from sessions.datagrams import Datagrams


class Playback(Workflow):
    """A session while it is played: the decoders' buffers, and the workflow as far as it has come.

    Each event takes effect when the datagrams of its time have been fed, as it did in the measurement: so the buffers
    need to hold no more than then, and whoever watches sees everything at its time.
    """

    def __init__(self, session: Session, log: Iterable[Event], on_state: Callable[[State], None]) -> None:
        self._streams = Streams(session)
        super().__init__(self._streams.limits, on_state)
        self._waiting = deque(log)

    @property
    def clock(self) -> HostClock:
        """The session's time."""
        return self._streams.clock

    @property
    def body(self) -> PoseBuffer:
        """Poses of the gripper, as far as they were played."""
        return self._streams.body

    @property
    def reference(self) -> PoseBuffer | None:
        """Poses of the body that is fixed to the object, where one was tracked."""
        return self._streams.reference

    @property
    def wrenches(self) -> WrenchBuffer | None:
        """Loads, where there was a sensor."""
        return self._streams.wrenches

    def feed(self, batch: Datagrams) -> None:
        """Take in datagrams, and the events up to the last of them."""
        self._streams.feed(batch)
        self._advance(int(batch.t_ns[-1]))

    def finish(self) -> None:
        """Take in what came after the last datagram."""
        self._streams.finish()
        self._advance(None)

    def _advance(self, until_ns: int | None) -> None:
        while self._waiting and (until_ns is None or self._waiting[0].t_ns <= until_ns):
            recorded = self._waiting.popleft()
            if isinstance(recorded, TakeEnded):
                self.take_in(recorded, self._streams.windows(recorded))
            self.fold(recorded)
