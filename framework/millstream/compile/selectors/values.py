"""Selectors as values: criteria, combined by union, intersection and difference."""

from collections.abc import Callable, Collection, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.core.text import Location

Indirect = Literal["eager", "cautious", "buildable", "empty"]
"""Which tests are selected with the nodes that they test, in dbt's terms."""

Step = str | int
"""A key or an index on the path to a value of the YAML selectors."""


class SelectorOrigin(Struct, frozen=True):
    """Where a selector was written."""

    location: Location | None = None
    line: str = ""
    within: str = ""
    """`selector 'nightly': ` for a YAML selector, otherwise empty."""

    def report(self, code: str, message: str, remedy: str = "") -> Diagnostic:
        return Diagnostic(code, self.within + message, self.location, remedy, self.line)

    def warn(self, code: str, message: str, remedy: str = "") -> Diagnostic:
        return Diagnostic(code, self.within + message, self.location, remedy, self.line, severity="warning")


class Criterion(Struct, frozen=True):
    """One method with its value, and how far to follow the graph from its matches."""

    text: str
    method: str
    value: str
    origin: SelectorOrigin
    arguments: tuple[str, ...] = ()
    childrens_parents: bool = False
    parents: int | None = 0
    """The number of edges up; None for all."""
    children: int | None = 0
    indirect: Indirect | None = None


class SelectorUnion(Struct, frozen=True):
    parts: "tuple[Spec, ...]"


class SelectorIntersection(Struct, frozen=True):
    parts: "tuple[Spec, ...]"
    text: str
    origin: SelectorOrigin


class SelectorDifference(Struct, frozen=True):
    included: "Spec"
    excluded: "Spec"


Spec: TypeAlias = Criterion | SelectorUnion | SelectorIntersection | SelectorDifference


def iterate_criteria(spec: Spec) -> Iterator[Criterion]:
    match spec:
        case Criterion():
            yield spec
        case SelectorUnion(parts=parts) | SelectorIntersection(parts=parts):
            for part in parts:
                yield from iterate_criteria(part)
        case SelectorDifference(included=included, excluded=excluded):
            yield from iterate_criteria(included)
            yield from iterate_criteria(excluded)


class SelectionContext(Struct, frozen=True):
    """Data that some selectors need besides the graph; missing data is only an error if it is needed."""

    state: Callable[[str], Collection[NodeId]] | None = None
    """Returns the ids for which `state:<value>` is true."""
    result: Callable[[str], Collection[NodeId]] | None = None
    """Returns the ids for which `result:<value>` is true."""
    locate: Callable[[tuple[Step, ...]], Location | None] = lambda _path: None
    """Returns the location of a value of the YAML selectors, by its path."""


class Selection(Struct, frozen=True):
    ids: tuple[NodeId, ...]
    """In topological order."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Warnings about criteria that select nothing."""
