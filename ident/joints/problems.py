"""What is wrong with a model, said all at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from ident.errors import IdentError


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, and where."""

    place: str
    """Path in the model, for example ``joints/2/limits`` or the name of a joint."""
    message: str
    line: int | None = None
    """Line in the file, counted from 1, where there is a file."""

    def __str__(self) -> str:
        where = f"line {self.line}, {self.place}" if self.line is not None else self.place
        return f"{where}: {self.message}" if where else self.message


class ModelError(IdentError):
    """A model that cannot be used, with every problem that was found."""

    def __init__(self, summary: str, problems: Sequence[Problem] = ()) -> None:
        self.summary = summary
        self.problems = tuple(problems)
        super().__init__("\n".join([summary, *(f"  {p}" for p in self.problems)]))


class OutOfLimitsError(ModelError):
    """A coordinate outside its joint's limits."""


class NotPrimitiveError(ModelError):
    """A joint type that cannot be said in turns and slides, which is all that the export formats know."""
