"""Which models, branches and filters the rows of unit tests reach.

For each filter and CASE of the plan as written, a query counts how many of its rows take each branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, quote_name, render_sql
from millstream.core.node_id import NO_NODE, NodeId
from millstream.plan.nodes import Aggregate, Filter, Node, Output, Project
from millstream.plan.nodes.order import in_order
from millstream.queries.emit.steps import in_steps
from millstream.queries.emit.walk import EmitOptions
from millstream.queries.values import Query
from millstream.queries.view_names import Views, source_reads, static_reads
from millstream.testing.coverage.branches import SqlBranch, find_branches
from millstream.testing.coverage.source_lines import SourceLines

_LONGEST = 90


class CoveragePath(Struct, frozen=True):
    """A branch of a filter, a CASE or an IF that a row can take."""

    model: NodeId
    kind: Literal["branch", "filter"]
    label: str
    condition: str
    line: int = 0
    """Its line in the model's file; 0: not in this file."""


class RowCoverage(Struct, frozen=True):
    models: frozenset[NodeId]
    """The models whose SQL was run."""
    ways: Mapping[CoveragePath, int]
    """How many rows took each branch."""


def find_ways(output: Output, lines: SourceLines) -> list[tuple[Node, list[CoveragePath]]]:
    """Return the nodes of a plan as written that have branches, with their branches."""
    node_ways: list[tuple[Node, list[CoveragePath]]] = []
    for node in in_order((output,)):
        model = node.models[0] if node.models else NO_NODE
        match node:
            case Filter(conditions=conditions):
                ways = [way for condition in conditions for way in _filter(model, condition, lines)]
            case Project(items=items):
                ways = [way for item in items for way in _branches(model, item.expression, lines)]
            case Aggregate(measures=measures):
                ways = [way for measure in measures for way in _branches(model, measure.call, lines)]
            case _:
                continue
        if ways:
            node_ways.append((node.inputs[0], ways))
    return node_ways


def _filter(model: NodeId, condition: Expression, lines: SourceLines) -> Iterable[CoveragePath]:
    if condition.reads or condition.functions or not condition.deterministic:
        return
    sql, label = _sql(condition), _short(render_sql(condition))
    line = lines.line(model, condition)
    yield CoveragePath(model, "filter", f"no row passes: {label}", f"coalesce({sql}, false)", line)
    yield CoveragePath(model, "filter", f"no row is dropped: {label}", f"not coalesce({sql}, false)", line)


def _branches(model: NodeId, expression: Expression, lines: SourceLines) -> Iterable[CoveragePath]:
    # A branch that depends on a lambda's variable or a subquery can't be evaluated outside of it.
    if expression.variables or expression.reads or expression.functions:
        return
    branches = [branch for one in find_branches(_sql(expression)) for branch in one]
    for branch, line in zip(branches, _lines(model, expression, branches, lines), strict=True):
        label = f"no row: {_short(branch.label.replace('`', ''))}"
        yield CoveragePath(model, "branch", label, branch.condition, line)


def _lines(
    model: NodeId, expression: Expression, branches: Sequence[SqlBranch], lines: SourceLines
) -> Iterator[int]:
    """Yield the line of each branch; the SQL as written usually has the same branches in the same order."""
    written = [branch for one in find_branches(lines.text(model, expression)) for branch in one]
    if len(written) == len(branches):
        yield from (lines.line(model, expression, branch.start) for branch in written)
    else:  # a comment contains such a word
        yield from (lines.line(model, expression) for _ in branches)


def _sql(expression: Expression) -> str:
    return render_sql(expression, ref=lambda ref: quote_name(ref.column))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def coverage_queries(
    query: Query, output: Output, lines: SourceLines
) -> list[tuple[Query, list[CoveragePath]]]:
    """Return a query for each node, whose single row has a count for each branch."""
    queries: list[tuple[Query, list[CoveragePath]]] = []
    for node, ways in find_ways(output, lines):
        views = Views()
        stepped = in_steps((node,), views.leaf, reads=views.of, how=EmitOptions())
        order = in_order((node,))
        counts = ", ".join(f"count_if({way.condition}) as way_{i}" for i, way in enumerate(ways))
        sql = f"select {counts} from (\n{stepped.emitted.statement()}\n)"  # noqa: S608 - of the project
        count_query = replace(
            query,
            sources=source_reads(order, views),
            reads=static_reads(order, views),
            steps=stepped.steps,
            sql=sql,
        )
        queries.append((count_query, ways))
    return queries
