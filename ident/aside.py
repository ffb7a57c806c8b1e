"""Work in a copy of this process, on another processor, while this one goes on with something else."""

import os
import pickle
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Result = TypeVar("Result")


def worthwhile() -> bool:
    """Whether this process can be copied, and gains by it: a copy has none of the other threads but all their locks."""
    return sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1 and threading.active_count() == 1


@contextmanager
def aside(work: Callable[[], Result]) -> Iterator[Callable[[], Result]]:
    """Begin some work in a copy of this process, and give what waits for its result.

    If the copy comes to no result, for whatever reason, the work is done here, so that an error is raised here as well.
    """
    receiving, sending = os.pipe()
    with warnings.catch_warnings():
        # Newer Pythons warn of all threads, those of NumPy's linear algebra too, which knows what to do in a copy.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        _work_and_end(work, sending)
    os.close(sending)
    try:
        with os.fdopen(receiving, "rb") as pipe:

            def result() -> Result:
                try:
                    found: Result = pickle.load(pipe)  # noqa: S301 - from a copy of ourselves
                except (EOFError, pickle.UnpicklingError):
                    return work()
                return found

            yield result
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _work_and_end(work: Callable[[], object], sending: int) -> None:
    """End without a word and without cleaning up, which is the original's business."""
    try:
        data = pickle.dumps(work(), protocol=pickle.HIGHEST_PROTOCOL)
        with os.fdopen(sending, "wb") as pipe:
            pipe.write(data)
    finally:
        os._exit(0)
