"""What drivers with a thread of their own share: starting, stopping, waiting for the first sample."""

import threading
from abc import ABC, abstractmethod
from typing import Literal, Self

from devices.errors import DeviceError

State = Literal["stopped", "connecting", "streaming", "lost", "failed"]


class ThreadedDriver(ABC):
    """A driver that works in one thread. A subclass runs until ``_stopping`` is set, and sets ``_ready``."""

    def __init__(self, thread_name: str, delivers: str) -> None:
        self._thread_name = thread_name
        self._delivers = delivers
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._ready = threading.Event()
        self._state: State = "stopped"
        self._last_error = ""

    def start(self) -> None:
        """Begin to connect, in a thread of its own; `wait_ready` waits for the first sample."""
        if self._thread is not None and self._thread.is_alive():
            return
        self._stopping.clear()
        self._ready.clear()
        self._state = "connecting"
        self._thread = threading.Thread(target=self._run, name=self._thread_name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the stream and the thread. More than once does no harm."""
        self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
            self._thread = None
            self._state = "stopped"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until it delivers, at most `timeout_s` real seconds; else `DeviceError` with the reason."""
        if not self._ready.wait(timeout_s) or self._state == "failed":
            reason = self._last_error or "Nothing was tried: the driver is not started."
            raise DeviceError(f"No {self._delivers} within {timeout_s:g} s. {reason}")

    @abstractmethod
    def _run(self) -> None:
        """Connect, deliver, reconnect; until ``_stopping`` is set."""
