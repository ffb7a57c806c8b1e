"""The seldom commands of the wizard's menu: which there are, what they ask, which event they make."""

from collections.abc import Callable
from dataclasses import dataclass

from ident.ui.wizard.describe import KINDS, parent_options, radius_from_mm
from ident.ui.wizard.dialogs import Answers, Field
from ident.workflow import events as ev
from ident.workflow.plan import HANDLE_KINDS, JOINT_KINDS
from ident.workflow.state import State

PLACES = (("lower", "at its lower end"), ("upper", "at its upper end"), ("last", "where the last take left it"))


@dataclass(frozen=True)
class Command:
    """An entry of the menu: the form that it opens, and the event that the answers make."""

    letter: str
    text: str
    fields: Callable[[State], tuple[Field, ...]]
    event: Callable[[Answers], ev.Event]
    problem: Callable[[Answers], str] = lambda _: ""


def _nodes(state: State) -> tuple[tuple[str, str], ...]:
    return tuple((node.name, node.name) for node in state.plan.depth_first()) or (("", "nothing"),)


def _present(state: State) -> str:
    return state.target.node if state.target is not None else ""


def _node_field(state: State, label: str = "Which one") -> Field:
    return Field("node", label, _nodes(state), _present(state))


def _ancestor_fields(state: State) -> tuple[Field, ...]:
    present = _present(state)
    chain = state.plan.ancestors(present) if present in state.plan else ()
    movable = [n.name for n in chain] or [n.name for n in state.plan if not n.is_handle]
    options = tuple((name, name) for name in movable) or (("", "nothing"),)
    return Field("node", "Which one", options, options[-1][0]), Field("at", "It stands", PLACES, "last")


def _kinds(state: State) -> tuple[tuple[str, str], ...]:
    names = dict(KINDS)
    present = _present(state)
    handle = present in state.plan and state.plan.node(present).is_handle
    return tuple((kind, names[kind]) for kind in (HANDLE_KINDS if handle else JOINT_KINDS))


def _insert(answers: Answers) -> ev.Event:
    radius = radius_from_mm(answers["radius"]) if answers["kind"] in HANDLE_KINDS else None
    return ev.Insert(name=answers["name"], kind=answers["kind"], parent=answers["parent"], radius_m=radius)


def _radius_problem(answers: Answers) -> str:
    if answers["kind"] in HANDLE_KINDS and radius_from_mm(answers["radius"]) is None:
        return f"'{answers['radius']}' is no number of millimetres."
    return "" if answers["name"] else "Give it a name."


COMMANDS = (
    Command("g", "go to a joint or handle", lambda s: (_node_field(s),), lambda a: ev.GoTo(node=a["node"])),
    Command(
        "o",
        "say where a joint stands meanwhile",
        _ancestor_fields,
        lambda a: ev.Place(node=a["node"], at=a["at"]),
    ),
    Command(
        "c",
        "change the type",
        lambda s: (Field("node", "Which one", ((_present(s), _present(s)),)) if _present(s) else _node_field(s),
                   Field("kind", "It is", _kinds(s))),
        lambda a: ev.ChangeType(node=a["node"], kind=a["kind"]),
    ),
    Command(
        "n",
        "rename",
        lambda s: (_node_field(s), Field("name", "New name")),
        lambda a: ev.Rename(node=a["node"], name=a["name"]),
    ),
    Command(
        "i",
        "insert a forgotten joint or handle",
        lambda s: (
            Field("name", "Name"),
            Field("kind", "Type", KINDS),
            Field("parent", "Hangs on", tuple(parent_options(s.plan))),
            Field("radius", "Radius, mm"),
        ),
        _insert,
        _radius_problem,
    ),
    Command(
        "x",
        "remove a joint, and what hangs on it",
        lambda s: (_node_field(s),),
        lambda a: ev.Remove(node=a["node"]),
    ),
    Command(
        "k",
        "keep a remark",
        lambda _: (Field("text", "Remark"),),
        lambda a: ev.Remark(text=a["text"]),
        lambda a: "" if a["text"] else "Write something, or leave with Esc.",
    ),
)  # fmt: skip
