"""What a selector says, as values: criteria, combined by union, intersection and difference."""

from collections.abc import Callable, Collection, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from millstream.errors import Diagnostic
from millstream.text import Location

Indirect = Literal["eager", "cautious", "buildable", "empty"]
"""Which tests come with the nodes that they test, in dbt's words."""

Step = str | int
"""A key or an index on the way into the tree of the YAML selectors."""


class Origin(Struct, frozen=True):
    """Where a selector was written."""

    location: Location | None = None
    line: str = ""
    within: str = ""
    """`selector 'nightly': ` for one from YAML, else empty."""

    def report(self, code: str, message: str, remedy: str = "") -> Diagnostic:
        return Diagnostic(code, self.within + message, self.location, remedy, self.line)

    def warn(self, code: str, message: str, remedy: str = "") -> Diagnostic:
        return Diagnostic(code, self.within + message, self.location, remedy, self.line, severity="warning")


class Criterion(Struct, frozen=True):
    """One method with its value, and how far to follow the graph from what it matches."""

    text: str
    method: str
    value: str
    origin: Origin
    arguments: tuple[str, ...] = ()
    childrens_parents: bool = False
    parents: int | None = 0
    """How many edges up; None for all the way."""
    children: int | None = 0
    indirect: Indirect | None = None


class Union(Struct, frozen=True):
    parts: "tuple[Spec, ...]"


class Intersection(Struct, frozen=True):
    parts: "tuple[Spec, ...]"
    text: str
    origin: Origin


class Difference(Struct, frozen=True):
    included: "Spec"
    excluded: "Spec"


Spec: TypeAlias = Criterion | Union | Intersection | Difference


def criteria(spec: Spec) -> Iterator[Criterion]:
    match spec:
        case Criterion():
            yield spec
        case Union(parts=parts) | Intersection(parts=parts):
            for part in parts:
                yield from criteria(part)
        case Difference(included=included, excluded=excluded):
            yield from criteria(included)
            yield from criteria(excluded)


class SelectionContext(Struct, frozen=True):
    """What some selectors need beyond the graph; what is missing is an error only when it is asked for."""

    state: Callable[[str], Collection[str]] | None = None
    """The ids of which `state:<value>` is true."""
    result: Callable[[str], Collection[str]] | None = None
    """The ids whose last run ended as `result:<value>` says."""
    locate: Callable[[tuple[Step, ...]], Location | None] = lambda _path: None
    """Where a value of the YAML selectors stands, by the keys and indices that lead to it."""


class Selection(Struct, frozen=True):
    ids: tuple[str, ...]
    """In topological order."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Warnings: what selects nothing."""
