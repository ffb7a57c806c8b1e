"""One value out of a few, on one line: arrow keys go through them, a letter jumps."""

from collections.abc import Sequence
from typing import Any

from textual import events
from textual.content import Content
from textual.widgets import Static


class Choice(Static, can_focus=True):
    """Shows ``‹ value ›``. Each option is a value and what the operator reads."""

    def __init__(self, options: Sequence[tuple[str, str]], value: str = "", **more: Any) -> None:
        super().__init__(**more)
        self._options = list(options)
        self._index = 0
        self.value = value

    @property
    def value(self) -> str:
        """The chosen value; empty where there is nothing to choose from."""
        return self._options[self._index][0] if self._options else ""

    @value.setter
    def value(self, value: str) -> None:
        values = [option for option, _ in self._options]
        self._index = values.index(value) if value in values else 0
        self._show()

    def offer(self, options: Sequence[tuple[str, str]]) -> None:
        """Replace the options, keeping the value where it still exists."""
        value = self.value
        self._options = list(options)
        self.value = value

    def on_key(self, event: events.Key) -> None:
        """Go through the options."""
        step = {"left": -1, "right": 1, "space": 1}.get(event.key)
        letter = (event.character or "").lower()
        if not self._options:
            return
        if step is not None:
            self._index = (self._index + step) % len(self._options)
        elif letter.isalnum():
            later = [*range(self._index + 1, len(self._options)), *range(self._index + 1)]
            matching = [i for i in later if self._options[i][1].lower().startswith(letter)]
            if not matching:
                return
            self._index = matching[0]
        else:
            return
        event.stop()
        self._show()

    def _show(self) -> None:
        text = self._options[self._index][1] if self._options else "–"
        self.update(Content(f"‹ {text} ›"))
