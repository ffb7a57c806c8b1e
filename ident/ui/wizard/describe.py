"""The first screen: which joints and handles the object has, and who hangs on whom."""

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Label, Static

from ident.ui.wizard.choice import Choice
from ident.ui.wizard.views import key_line
from ident.workflow import events as ev
from ident.workflow.plan import HANDLE_KINDS, ROOT, Node, Plan

if TYPE_CHECKING:
    from ident.ui.wizard.app import WizardApp

KINDS = (
    ("auto", "find out"),
    ("rotary", "rotary joint"),
    ("prismatic", "prismatic joint"),
    ("fixed", "fixed part"),
    ("handle2", "handle: turn and slide"),
    ("handle1", "handle: turn"),
    ("handle0", "handle: rigid"),
)
DEFAULT_RADIUS_MM = 10.0
KEYS = (
    ("Enter", "add; with an empty name: done"),
    ("Tab", "next field"),
    ("← →", "choose"),
    ("F2", "done"),
    ("F8", "remove the last"),
    ("Ctrl+C", "quit"),
)


def parent_options(plan: Plan) -> list[tuple[str, str]]:
    """Return what a joint or handle can hang on."""
    return [(ROOT, f"{ROOT} (the base)"), *((n.name, n.name) for n in plan if not n.is_handle)]


def radius_from_mm(text: str) -> float | None:
    """Radius in metres of what was typed in millimetres; None where that is no number."""
    try:
        return float(text.replace(",", ".") or DEFAULT_RADIUS_MM) * 1e-3
    except ValueError:
        return None


class DescribeScreen(Screen[None]):
    """A form for one joint after another beside the tree that they make."""

    app: "WizardApp"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "done", show=False),
        Binding("f8", "remove", show=False),
        Binding("enter", "add", show=False),
    ]

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._draft = plan

    def compose(self) -> ComposeResult:
        """Lay out form and tree."""
        yield Static(
            Content.assemble(
                ("Describe the object", "bold $text-primary"), "\nIts joints and handles, and who hangs on whom."
            ),
            id="describe-title",
        )
        with Horizontal(id="describe-middle"):
            with Vertical(id="form"):
                yield self._line("Object", Input(self._draft.name, id="object-name", compact=True))
                yield self._line("Name", Input(id="name", placeholder="hinge, drawer1, handle …", compact=True))
                yield self._line("Type", Choice(KINDS, id="kind"))
                yield self._line("Hangs on", Choice(parent_options(self._draft), id="parent"))
                yield self._line("Radius, mm", Input(id="radius", placeholder="of a handle's bar: 10", compact=True))
            with VerticalScroll(id="draft", can_focus=False) as box:
                box.border_title = "Object"
                yield Static(id="draft-tree")
        yield Static("", id="describe-problems", markup=False)
        yield Static(id="describe-keys")

    @staticmethod
    def _line(label: str, widget: Input | Choice) -> Horizontal:
        return Horizontal(Label(label), widget, classes="field")

    def on_resize(self, event: events.Resize) -> None:
        """Break the line of keys anew."""
        self.query_one("#describe-keys", Static).update(key_line(KEYS, event.size.width))

    def on_mount(self) -> None:
        """Begin with the first name."""
        self.query_one("#name", Input).focus()
        self._show()

    @on(Input.Submitted)
    def action_add(self) -> None:
        """Add the joint or handle of the form; an empty name ends the description."""
        name = self.query_one("#name", Input).value.strip()
        if not name:
            self.action_done()
            return
        kind = self.query_one("#kind", Choice).value
        radius = None
        if kind in HANDLE_KINDS:
            typed = self.query_one("#radius", Input).value
            radius = radius_from_mm(typed)
            if radius is None:
                self._say(f"'{typed}' is no number of millimetres.")
                return
        plan = self._draft.with_node(Node(name, kind, self.query_one("#parent", Choice).value or ROOT, radius))
        if problems := plan.problems():
            self._say("; ".join(problems))
            return
        self._draft = plan
        self.query_one("#name", Input).value = ""
        if kind not in HANDLE_KINDS:
            # What is described next often hangs on what was described last.
            self.query_one("#parent", Choice).offer(parent_options(plan))
            self.query_one("#parent", Choice).value = name
        self.query_one("#name", Input).focus()
        self._show()

    def action_remove(self) -> None:
        """Remove the last joint or handle of the draft."""
        if self._draft.nodes:
            self._draft = replace(self._draft, nodes=self._draft.nodes[:-1])
            self.query_one("#parent", Choice).offer(parent_options(self._draft))
            self._show()

    def action_done(self) -> None:
        """Hand the description in."""
        plan = replace(self._draft, name=self.query_one("#object-name", Input).value.strip() or "object")
        if problems := plan.problems():
            self._say("; ".join(problems))
        else:
            self.app.machine.post(ev.Described(plan=plan.to_dict()))

    def _say(self, text: str) -> None:
        self.query_one("#describe-problems", Static).update(text)

    def _show(self) -> None:
        self._say("")
        names = dict(KINDS)
        rows = [
            Content.assemble(
                "  " * len(self._draft.ancestors(n.name)), (n.name, "bold"), "  ", (names[n.kind], "$foreground 60%")
            )
            for n in self._draft.depth_first()
        ]
        empty = Content.assemble(("Nothing yet.", "$foreground 60%"))
        self.query_one("#draft-tree", Static).update(Content("\n").join(rows) if rows else empty)
