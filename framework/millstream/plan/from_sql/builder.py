"""The interface that the parts of a model's builder use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import ModelSpec
from millstream.plan.from_sql.values import PlanContext, Span
from millstream.plan.nodes import Aggregate, Dedupe, Join, Node, Stateful, TemporalJoin
from millstream.plan.traits import KnownTraits, Mode
from millstream.sql.query import Body, Input


class Builder(Protocol):
    """Builds one model. Separate modules build the clauses, and call it for their inputs."""

    spec: ModelSpec
    around: PlanContext
    traits: KnownTraits
    ctes: dict[str, Node]

    def body(self, body: Body) -> Node:
        """Return the relation of a SELECT, a UNION, or opaque SQL."""

    def relation(self, relation: NodeId, *, at_rest: bool) -> Node:
        """Return a relation of the project that the model reads."""

    def streams(self, from_input: Input) -> bool:
        """Return whether an input of a FROM clause can only be read row by row."""

    def one_row(self) -> Node:
        """Return the input of `select 1`."""

    def check(
        self, node: Node, span: Span | None, names: Mapping[str, str] | None = None, option: str = ""
    ) -> Node:
        """Derive a node's traits, and report what can't be done at a span of the SQL.

        `names` has the SQL of columns that have generated names in the plan.
        """

    def mode(self, node: Node) -> Mode:
        """Return whether rows are appended, replaced, or at rest."""

    def timed(
        self, node: Node, time: str, delay: str, start: int = 0, stop: int = 0, option: str = ""
    ) -> Node:
        """Return a relation with an event time; Spark allows one watermark in the flow of a row."""

    def add_state(
        self,
        node: Aggregate | Dedupe | Join | TemporalJoin | Stateful,
        span: Span | None,
        grown: Iterable[str],
        times: Iterable[str] = (),
        option: str = "",
    ) -> None:
        """Record a step with state, and its span."""

    def report_error(
        self, code: str, message: str, remedy: str, start: int = 0, stop: int = 0, option: str = ""
    ) -> None:
        """Report an error."""
