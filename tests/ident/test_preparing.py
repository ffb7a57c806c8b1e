"""A new installation compiles the fits beside the measurement; here what it makes is kept already, and soon found."""

import threading
from pathlib import Path

import pytest

import fitting
from fitting import is_warm, warm_up
from ident.preparing import TOLD, Preparation, prepare_fits

STAMP = Path(fitting.__file__).parent / "__pycache__" / "warm.stamp"


@pytest.fixture
def new() -> None:
    """As after an installation: nothing says that machine code is kept."""
    warm_up()
    STAMP.unlink()
    assert not is_warm()


@pytest.mark.usefixtures("new")
def test_a_new_installation_is_told_once() -> None:
    said: list[str] = []
    prepare_fits(said.append)
    assert said == [TOLD]
    assert is_warm()
    prepare_fits(said.append)
    assert said == [TOLD]


@pytest.mark.usefixtures("new")
def test_a_process_of_its_own_compiles_and_whoever_fits_waits_for_it() -> None:
    fits = Preparation()
    assert not fits.ready
    assert fits.note.startswith("compiling the fits, once: ")
    assert fits.wait()
    assert fits.ready
    assert fits.note == ""
    assert is_warm()
    fits.stop()


@pytest.mark.usefixtures("new")
def test_who_leaves_meanwhile_does_not_wait() -> None:
    fits = Preparation()
    answers: list[bool] = []
    waiting = threading.Thread(target=lambda: answers.append(fits.wait()))
    waiting.start()
    fits.stop()
    waiting.join()
    assert answers == [False]
    assert not fits.wait()
    warm_up()


def test_an_installation_in_use_is_ready_at_once() -> None:
    warm_up()
    fits = Preparation()
    assert fits.ready
    assert fits.note == ""
    assert fits.wait()
    fits.stop()
