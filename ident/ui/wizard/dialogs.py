"""Small windows over the wizard: help, a question, the seldom commands, a form."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from ident.ui.wizard.choice import Choice

T = TypeVar("T")

HELP = """\
space, Enter   the obvious next thing: start, stop, next, save
trigger        the same; a long press is redo
r   redo: set the last take aside and measure again
t   add a take beside those that are there
a   accept the fit as it is
y   take the type that the movement looks like
s   skip this joint for now        b   one step back
l   find this joint's limits by hand
o   at the end: mark three points that tell where the object is
p   pause, and go on               m   more: jump, rename, insert …
?   this help                      q   quit; the session is kept

A take starts and stops by a press: nothing has to be held. Nothing is
ever deleted: takes that you redo stay in the session."""


class Dialog(ModalScreen[T], Generic[T]):
    """A window that Escape closes without an answer."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", show=False)]

    def action_close(self) -> None:
        """Close without an answer."""
        self.dismiss(None)


class Help(Dialog[None]):
    """What each key does; any key closes it."""

    def compose(self) -> ComposeResult:
        """Show the text."""
        with VerticalScroll() as box:
            box.border_title = "Help"
            yield Static(HELP, markup=False)

    def on_key(self) -> None:
        """Close on any key."""
        self.dismiss(None)


class Confirm(Dialog[bool]):
    """A question that ``y`` or Enter affirms; every other key leaves things as they are."""

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        """Show the question."""
        with Vertical() as box:
            box.border_title = self._title
            yield Static(self._text, markup=False)
            yield Static("\nEnter or y: yes    any other key: no", classes="hint", markup=False)

    def on_key(self, event: Any) -> None:
        """Answer."""
        event.stop()
        self.dismiss(event.key in ("y", "enter"))


class Menu(Dialog[str]):
    """Seldom commands: a letter or Enter chooses."""

    def __init__(self, title: str, items: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._title, self._items = title, list(items)

    def compose(self) -> ComposeResult:
        """List the commands."""
        with Vertical() as box:
            box.border_title = self._title
            yield OptionList(
                *(
                    Option(Content.assemble((f" {letter} ", "bold reverse"), f"  {text}"), id=letter)
                    for letter, text in self._items
                )
            )

    def on_key(self, event: Any) -> None:
        """Choose by letter."""
        if event.key in dict(self._items):
            event.stop()
            self.dismiss(event.key)

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)


@dataclass(frozen=True)
class Field:
    """One line of a form: free text, or a choice where there are options."""

    key: str
    label: str
    options: tuple[tuple[str, str], ...] = ()
    value: str = ""


Answers = dict[str, str]


class Form(Dialog[Answers]):
    """A few fields; Enter sends them, unless ``problem`` finds something wrong with the answers."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "send", show=False)]

    def __init__(self, title: str, fields: Sequence[Field], problem: Callable[[Answers], str] = lambda _: "") -> None:
        super().__init__()
        self._title, self._fields, self._problem = title, list(fields), problem

    def compose(self) -> ComposeResult:
        """Show the fields."""
        with VerticalScroll(can_focus=False) as box:
            box.border_title = self._title
            for field in self._fields:
                with Horizontal(classes="field"):
                    yield Label(field.label)
                    if field.options:
                        yield Choice(field.options, field.value, id=field.key)
                    else:
                        yield Input(field.value, id=field.key, compact=True)
            yield Static("", classes="problem", markup=False)
            yield Static("Enter: do it    Tab: next field    ← →: choose    Esc: leave", classes="hint", markup=False)

    @on(Input.Submitted)
    def action_send(self) -> None:
        """Give the answers back."""
        answers = {f.key: self._value(f).strip() for f in self._fields}
        problem = self._problem(answers)
        if problem:
            self.query_one(".problem", Static).update(problem)
        else:
            self.dismiss(answers)

    def _value(self, field: Field) -> str:
        if field.options:
            return self.query_one(f"#{field.key}", Choice).value
        return self.query_one(f"#{field.key}", Input).value
