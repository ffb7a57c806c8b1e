"""Work in a copy of this process comes to the same as work in this one."""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from ident.aside import aside


def test_the_result_comes_from_another_process() -> None:
    big = np.arange(1_000_000)
    with aside(lambda: (os.getpid(), big[::2])) as result:
        number, some = result()
    assert number != os.getpid()
    np.testing.assert_array_equal(some, big[::2])


def test_what_fails_there_fails_here() -> None:
    with aside(lambda: int("no number")) as result, pytest.raises(ValueError, match="no number"):
        result()


def test_what_is_lost_there_is_done_here() -> None:
    original = os.getpid()

    def work() -> int:
        if os.getpid() != original:
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid()

    with aside(work) as result:
        assert result() == original


def test_nobody_waits_for_work_that_is_not_wanted_any_more(tmp_path: Path) -> None:
    def work() -> None:
        (tmp_path / "number").write_text(str(os.getpid()))
        signal.pause()

    with aside(work):
        while not (tmp_path / "number").exists() or not (tmp_path / "number").read_text():
            time.sleep(0.001)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "number").read_text()), 0)
