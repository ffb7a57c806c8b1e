"""Once after an installation the fits are compiled: nobody who measures waits for that, and nobody wonders."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from fitting import is_warm, warm_up

TOLD = "Compiling the fits (once after an installation, a minute or two) ..."
_NICENESS = 10
"""Receiving, recording and keys go first."""


def tell(line: str) -> None:
    """Print a line that belongs to no command's output."""
    print(line, file=sys.stderr, flush=True)


def prepare_fits(say: Callable[[str], None] = tell) -> None:
    """Load the fits' machine code; where it has to be compiled first, say so."""
    if not is_warm():
        say(TOLD)
    warm_up()


class Preparation:
    """Loads the fits' machine code at once; where it has to be compiled, a process of its own does that meanwhile."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._began = time.monotonic()
        self._loading = threading.Lock()
        self._stopped = False
        if is_warm() or not self._compiles():
            # Loading holds up every thread: before devices stream, not during the first take.
            warm_up()

    def _compiles(self) -> bool:
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-m", "ident.preparing"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError:
            return False
        return True

    @property
    def ready(self) -> bool:
        """Whether a fit would begin at once."""
        return self._child is None or self._child.poll() is not None

    @property
    def note(self) -> str:
        """What to tell the operator meanwhile; empty when it is done."""
        return "" if self.ready else f"compiling the fits, once: {time.monotonic() - self._began:.0f} s"

    def wait(self) -> bool:
        """Wait until fits can begin; False where that was given up, because the measurement ends."""
        with self._loading:
            child = self._child
            if child is not None and not self._stopped:
                child.wait()
                if not self._stopped:
                    # Where the process failed, this one compiles.
                    warm_up()
                    self._child = None
        return not self._stopped

    def stop(self) -> None:
        """Give up waiting; what is compiled by now is kept."""
        self._stopped = True
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait()


if __name__ == "__main__":
    os.nice(_NICENESS)
    warm_up()
