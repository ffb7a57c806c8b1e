"""The live fit in another process: the same answers, and no harm when that process is gone."""

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from test_live import HINGE, LIMITS, FakeRig, FakeSource, fill, recording, sweep, taken

from devices.clock import HostClock
from ident import pipe
from ident.identify import node_record
from ident.joints import Rotary
from ident.live.fit import live_fit
from ident.live.process import FitProcess
from ident.live.status import LiveFit
from ident.live.watch import Live
from ident.live.words import fit_of, fit_words, state_of, state_words
from ident.workflow.quality import Verdict
from ident.workflow.state import TIP, Result, State, Take, Target


def eventually(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.01)


def two_takes() -> State:
    """A hinge with a fit, limits held by hand, and a further take that is running."""
    hinge = replace(Rotary.example(), name="hinge")
    movement = Target("movement", "hinge")
    takes = (
        Take(0, movement, 1, 2, samples=300, measured=300),
        Take(1, Target("lower_limit", "hinge"), 3, 4),
        Take(2, Target("upper_limit", "hinge"), 5, 6, places=(("hinge", "upper"), ("other", 0.25))),
        Take(3, movement, 7),
    )
    result = Result("hinge", (0,), node_record(hinge), Verdict("fine"), 0.3, accepted=True)
    tip = {"rotation": np.eye(3).tolist(), "offset_m": [0.0, 0.0, 0.1]}
    return replace(recording(HINGE, movement), takes=takes, results=(result,)).with_step(TIP, record=tip)


@pytest.fixture
def fitter() -> Iterator[FitProcess]:
    process = FitProcess(LIMITS, lambda: False)
    process.start()
    yield process
    process.close()


def asked(fitter: FitProcess, state: State, looks_like: str | None = None) -> LiveFit | None:
    others = {t.id: taken(sweep(samples=120)) for t in state.takes[:-1]}
    return fitter.fit(state, state.takes[-1], taken(sweep()), others, looks_like)


def test_a_state_and_a_fit_survive_as_words() -> None:
    state = two_takes()
    words, _ = pipe.unpack(pipe.pack(state_words(state), {}))
    assert state_of(words) == replace(state, target=None)
    fit = live_fit(recording(), recording().takes[-1], taken(sweep()), {}, LIMITS)
    back = fit_of(pipe.unpack(pipe.pack(fit_words(fit), {}))[0])
    assert back.verdict == fit.verdict
    assert back.axis_std == fit.axis_std
    assert back.node is not None
    assert fit.node is not None
    assert node_record(back.node) == node_record(fit.node)
    assert np.isnan(fit_of(pipe.unpack(pipe.pack(fit_words(LiveFit("", Verdict(""))), {}))[0]).arc)


def test_another_process_answers_as_this_one_would(fitter: FitProcess) -> None:
    state = two_takes()
    eventually(lambda: asked(fitter, state) is not None)
    there = asked(fitter, state, "rotary")
    others = {t.id: taken(sweep(samples=120)) for t in state.takes[:-1]}
    here = live_fit(state, state.takes[-1], taken(sweep()), others, LIMITS, "rotary")
    assert there is not None
    assert here.kind == "rotary", "takes of the limits are known as well"
    assert pipe.pack(fit_words(there), {}) == pipe.pack(fit_words(here), {}), "to the last bit"
    bent = replace(state, takes=(*state.takes[:-1], replace(state.takes[-1], target=Target("movement", "nobody"))))
    lost = asked(fitter, bent, "rotary")
    assert lost is not None
    assert not lost.kind, "a question that has no answer does not end the process"
    assert asked(fitter, state, "rotary") is not None


def test_a_process_that_ends_is_said_and_not_asked_again(fitter: FitProcess) -> None:
    state = two_takes()
    eventually(lambda: asked(fitter, state) is not None)
    child = fitter.child
    assert child is not None
    child.send_signal(signal.SIGKILL)
    assert asked(fitter, state) is None
    assert "slow" in fitter.note
    assert fitter.child is None
    assert asked(fitter, state) is None


def test_the_process_ends_when_nobody_asks_any_more(fitter: FitProcess) -> None:
    child = fitter.child
    assert child is not None
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(60.0) == 0


def test_live_goes_on_in_its_thread_when_the_process_is_killed() -> None:
    clock = HostClock()
    rig, source = FakeRig(clock), FakeSource(State())
    start = clock.now_ns() - 300 * 8_333_333
    fill(rig, sweep(samples=300), start)
    source.state = replace(recording(), takes=(Take(0, Target("movement", "hinge"), start),))
    with Live(rig, source, LIMITS) as live:  # type: ignore[arg-type]
        eventually(lambda: live.fitting is not None)
        child = live.fitting
        assert child is not None
        child.kill()
        eventually(lambda: live.note)
        before = live.track
        eventually(lambda: live.track is not before and live.track is not None and live.track.fit is not None)
    assert live.fitting is None


def test_whole_messages_only() -> None:
    messages = [pipe.pack({"n": n}, {"a": np.arange(n), "b": np.zeros((n, 2))}) for n in range(3)]
    stream = bytearray()
    for message in messages:
        stream += len(message).to_bytes(4, "little") + message
    received, got = bytearray(), []
    for byte in stream:
        received.append(byte)
        message = pipe.split(received)
        if message is not None:
            got.append(message)
    assert got == messages
    words, arrays = pipe.unpack(got[2])
    assert words == {"n": 2}
    assert arrays["b"].shape == (2, 2)
    arrays["a"][0] = 5
    with pytest.raises(ValueError, match="not sent"):
        pipe.unpack(pipe.pack({}, {"a": np.zeros(2, dtype=np.float32)}))
