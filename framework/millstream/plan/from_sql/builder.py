"""What the parts of a model's builder need of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from millstream.plan.from_sql.catalog import ModelSpec
from millstream.plan.from_sql.values import Span, Surroundings
from millstream.plan.nodes import Aggregate, Dedupe, Join, Node, Stateful
from millstream.plan.traits import KnownTraits, Mode
from millstream.sql.query import Body, Input


class Builder(Protocol):
    """Builds one model. Clauses are built by modules of their own, which ask it for what lies below them."""

    spec: ModelSpec
    around: Surroundings
    traits: KnownTraits
    ctes: dict[str, Node]

    def body(self, body: Body) -> Node:
        """Return the relation of a SELECT, a UNION, or SQL that is not understood."""

    def relation(self, relation: str, *, at_rest: bool) -> Node:
        """Return a relation of the project that the model reads."""

    def streams(self, given: Input) -> bool:
        """Tell whether an input of a FROM clause can only be read row by row."""

    def one_row(self) -> Node:
        """Return what `select 1` reads."""

    def made(
        self, node: Node, place: Span | None, names: Mapping[str, str] | None = None, option: str = ""
    ) -> Node:
        """Note a node's traits; what can't be done is reported at a place in the SQL."""

    def mode(self, node: Node) -> Mode:
        """Return whether rows are added, replaced, or at rest."""

    def timed(
        self, node: Node, time: str, delay: str, start: int = 0, stop: int = 0, option: str = ""
    ) -> Node:
        """Return a relation with an event time."""

    def stand(
        self,
        node: Aggregate | Dedupe | Join | Stateful,
        place: Span | None,
        grown: Iterable[str],
        times: Iterable[str] = (),
        option: str = "",
    ) -> None:
        """Take note of what keeps state, and of where it stands."""

    def problem(
        self, code: str, message: str, remedy: str, start: int = 0, stop: int = 0, option: str = ""
    ) -> None:
        """Report what can't be built."""
