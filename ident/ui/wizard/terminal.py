"""The terminal as Textual drives it, made safe against its going away in the middle of a measurement."""

from textual.drivers.linux_driver import LinuxDriver


class Terminal(LinuxDriver):
    """Drops what is written once the terminal is gone.

    Textual writes through a queue to a thread of its own. That thread dies with a closed window or a broken SSH
    connection, and the next thirty writes later the application would wait for ever, with its session open.
    """

    @property
    def lost(self) -> bool:
        """Whether nobody can see what is written."""
        return self._writer_thread is not None and not self._writer_thread.is_alive()

    def write(self, data: str) -> None:
        """Write to the terminal while there is one."""
        if not self.lost:
            super().write(data)
