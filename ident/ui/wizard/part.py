"""A piece of text on the screen that is drawn when it changes, and not before."""

from textual.content import Content
from textual.widgets import Static


class Part(Static):
    """Text that is shown anew ten times a second: drawn only where it changed, laid out only where its shape did."""

    def __init__(self, id: str, *, one_row: bool = False) -> None:  # noqa: A002 - as Textual calls it
        super().__init__(id=id, markup=False)
        self._one_row = one_row
        self._shown = Content("")

    def show(self, content: Content) -> None:
        """Show this text from now on."""
        if content.is_same(self._shown):
            return
        reshaped = not self._one_row and _shape(content) != _shape(self._shown)
        self._shown = content
        self.update(content, layout=reshaped)


def _shape(content: Content) -> list[int]:
    """Lengths of the lines: the same ones wrap and fill in the same way."""
    return [len(line) for line in content.plain.split("\n")]
