"""The rows of a table over tables as nodes, clause by clause, to compare what two versions of its SQL mean.

Nothing runs them: the table is computed by statements (`plan/maintained`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import ModelSpec
from millstream.plan.from_sql.maintaining import inputs_of
from millstream.plan.from_sql.model import ModelBuilder
from millstream.plan.from_sql.values import PlanContext
from millstream.plan.nodes import Maintained, Node, TableScan
from millstream.plan.traits import KnownTraits
from millstream.sql.query import Body, DerivedTable, GeneratedRows, Scan, Select, SqlQuery, SqlUnion

_QUALIFY = re.compile(r"\bqualify\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")


def inputs_at_rest(node: Maintained) -> tuple[Node, ...]:
    """Return the inputs of a table over tables without their changes, in the order of its relations."""
    return tuple(
        input_node
        for input_node in node.reads
        if not (isinstance(input_node, TableScan) and input_node.changes)
    )


def rows_at_rest(spec: ModelSpec, node: Maintained) -> Node | None:
    """Return the rows of a table over tables as if its inputs never changed; None if nodes can't say all."""
    query = spec.query.at_rest or spec.query
    if not _is_whole(query, _text(spec)):
        return None
    inputs = dict(zip(inputs_of(spec), inputs_at_rest(node), strict=True))
    context = PlanContext(lambda relation, _: inputs[relation], lambda _: True, lambda _: False)
    builder = ModelBuilder(replace(spec, query=replace(query, forms=())), context, KnownTraits())
    root = builder.build()
    return None if builder.diagnostics or builder.cuts else root


def read_columns(spec: ModelSpec, node: Maintained) -> dict[NodeId, frozenset[str]]:
    """Return the columns of each input that the SQL can read, in lower case; all if that is unknown."""
    inputs = dict(zip(inputs_of(spec), inputs_at_rest(node), strict=True))
    columns = {relation: frozenset(input_node.by_name) for relation, input_node in inputs.items()}
    query = spec.query.at_rest or spec.query
    selects = list(_selects(query))
    if None in selects:
        return columns
    # QUALIFY and subqueries are not part of the clauses, but their columns are words of the text.
    read = {word.lower() for word in _WORD.findall(_text(spec))}
    for select in selects:
        assert select is not None
        for relation in select.relations:
            names = tuple(map(str.lower, relation.columns))
            if isinstance(relation.input, Scan) and names != tuple(inputs[relation.input.relation].by_name):
                return columns  # renamed by position
        read |= {ref.lower() for ref in _refs(select)}
    if any(select and select.subqueries for select in selects) and "*" in _text(spec):
        return columns
    return {relation: names & read for relation, names in columns.items()}


def _text(spec: ModelSpec) -> str:
    return "".join(piece if isinstance(piece, str) else " x " for piece in spec.query.text)


def _is_whole(query: SqlQuery, text: str) -> bool:
    """Return whether clauses say all that the SQL does, and the streaming plan has nodes for them."""
    for select in _selects(query):
        if select is None or select.subqueries or select.sets:
            return False
        if select.windows and _QUALIFY.search(text):
            return False
        if any(relation.watermark is not None for relation in select.relations):
            return False
    return all(body.operator == "union" for body in _bodies(query) if isinstance(body, SqlUnion))


def _bodies(query: SqlQuery) -> Iterator[Body]:
    waiting: list[Body] = [*query.ctes.values(), query.body]
    while waiting:
        body = waiting.pop()
        yield body
        match body:
            case Select():
                waiting += [
                    relation.input.query
                    for relation in body.relations
                    if isinstance(relation.input, DerivedTable)
                ]
            case SqlUnion():
                waiting += body.sides


def _selects(query: SqlQuery) -> Iterator[Select | None]:
    """Yield all SELECTs that are split; None for opaque SQL."""
    for body in _bodies(query):
        match body:
            case Select():
                yield body
            case SqlUnion():
                pass
            case _:
                yield None


def _refs(select: Select) -> Iterator[str]:
    expressions = [item.expression for item in (*select.items, *(select.keys or ()))]
    expressions += [*select.where, *select.having]
    for measure in select.measures:
        expressions += [measure.call, *([measure.condition] if measure.condition else [])]
    for relation in select.relations:
        expressions += relation.on
        if isinstance(relation.input, GeneratedRows):
            expressions.append(relation.input.call)
    for window in select.windows:
        expressions += window.partition
    return (ref.column for expression in expressions for ref in expression.refs)
