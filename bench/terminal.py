"""A program on a pseudo-terminal: keys go in as an operator's would, what it draws comes out."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from collections.abc import Sequence


class Terminal:
    """Runs a command on a terminal of its own. Only bytes are looked at: nothing is drawn."""

    def __init__(self, command: Sequence[str], *, columns: int, rows: int) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.process = subprocess.Popen(
            list(command), stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
        )  # fmt: skip
        os.close(slave)
        self.last = b""
        """The end of what was drawn."""

    def close(self) -> None:
        """End the program, where it has not ended."""
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def press(self, key: str) -> None:
        """Send a key."""
        os.write(self._master, key.encode())

    def wait_for(self, text: str, seconds: float) -> float:
        """Real seconds until a text is drawn, from now on; infinite where it is not."""
        wanted, seen, began = text.encode(), b"", time.monotonic()
        while wanted not in seen:
            piece = self._read(began + seconds - time.monotonic())
            if piece is None:
                return float("inf")
            # A text that comes in two pieces is found as well.
            seen = seen[-len(wanted) :] + piece
        return time.monotonic() - began

    def drain(self, seconds: float) -> None:
        """Let the program draw for a while."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0.0:
            self._read(left)

    def run_out(self, seconds: float) -> None:
        """Let the program draw until it has ended, for some time at the most."""
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            self.drain(0.1)

    def _read(self, seconds: float) -> bytes | None:
        if seconds <= 0.0 or not select.select([self._master], [], [], seconds)[0]:
            return None
        try:
            piece = os.read(self._master, 1 << 16)
        except OSError:
            return None  # The program has ended.
        self.last = (self.last + piece)[-4000:]
        return piece
