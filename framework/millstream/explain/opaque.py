"""Opaque SQL: its location, the reason, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from msgspec import Struct

from millstream.compile.artifacts import artifact_path
from millstream.compile.manifest import Compiled, ManifestNode
from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import Catalog, ModelSpec
from millstream.sql.query import Body, DerivedTable, OpaqueBody, Select, SqlUnion


class OpaqueSql(Struct, frozen=True):
    model: str
    path: str
    """The model's file."""
    compiled_path: str
    line: int
    """The line of the compiled SQL; 0 if unknown."""
    reason: str
    text: str
    """The beginning of the SQL."""
    remedy: str


_LOCATED_REASON = re.compile(
    r"(?P<reason>.*?) \(line (?P<line>\d+) of the compiled SQL: (?P<text>.*)\)", re.DOTALL
)

_NEWEST = """\
for the newest row per key, a table with unique_key and order_by, or max_by(struct(…), time) with GROUP BY;
for the first row of each key, config(dedupe={'keys': […]})"""
_ORDER = """\
omit it, because a stream has no end: sort stored rows with `millstream query`, or keep the best rows of each
group with max_by, min_by or slice(array_sort(collect_list(…)), 1, n)"""
_PIVOT = """\
one aggregate for each value: sum(amount) filter (where kind = 'a') as a;
for UNPIVOT, lateral view stack(…)"""
_AT_REST = "with a table, a seed or a reference topic"

REMEDIES = (
    (r"window function|OVER\b|QUALIFY", _NEWEST),
    (r"recursive", "a fixed number of joins, or a seed that lists all ancestors"),
    (r"ORDER|SORT|LIMIT|OFFSET|CLUSTER|DISTRIBUTE", _ORDER),
    (r"^a subquery that reads", f"a join, LEFT SEMI JOIN for IN or LEFT ANTI JOIN for NOT IN, {_AT_REST}"),
    (r"GROUPING|ROLLUP|CUBE", "one model for each grouping, each with its GROUP BY"),
    (r"TABLESAMPLE", "a condition on a hash of the key: where pmod(xxhash64(id), 100) < 5"),
    (r"PIVOT", _PIVOT),
    (r"MATCH_RECOGNIZE", "a Python function that keeps state by key: def name(key, rows, state)"),
    (r"LATERAL subquery", "a join, or LATERAL VIEW explode(…)"),
    (r"EXCEPT", f"LEFT ANTI JOIN {_AT_REST}"),
    (r"INTERSECT", f"LEFT SEMI JOIN {_AT_REST}"),
    (r"Values|VALUES", "a seed with these rows"),
)
"""What to write instead, by pattern of the reason; the first match counts."""

_OTHERWISE = "the same in simpler SQL, or a Python function; it runs as written, but is not optimized"


def opaque_remedy(reason: str) -> str:
    """Return what to write instead, on one line."""
    text = next((text for pattern, text in REMEDIES if re.search(pattern, reason)), _OTHERWISE)
    return text.replace("\n", " ")


def find_opaque(
    catalog: Catalog,
    compiled: Compiled,
    target_path: str = "target",
    models: Collection[NodeId] | None = None,
    maintained: Collection[NodeId] = (),
) -> tuple[OpaqueSql, ...]:
    """Return the opaque SQL in these models (by id) or in all models, each once.

    Models that are maintained over tables have none: their SQL reads rows at rest.
    """
    statements: dict[tuple[NodeId, str, str], OpaqueSql] = {}
    for node in compiled.manifest.nodes.values():
        if node.id in maintained or (models is not None and node.id not in models):
            continue
        for reason, start in _reasons(node, catalog.models.get(node.id)):
            line = compiled.sql[node.id].count("\n", 0, start) + 1 if node.id in compiled.sql else 0
            one = _one(node, reason, line, target_path)
            statements.setdefault((node.id, one.reason, one.text), one)
    # If the compiler's reason includes the SQL, the plan's reason repeats it without the SQL.
    with_text = {(statement.model, statement.reason) for statement in statements.values() if statement.text}
    distinct = [
        statement
        for statement in statements.values()
        if statement.text or (statement.model, statement.reason) not in with_text
    ]
    return tuple(sorted(distinct, key=lambda statement: (statement.path, statement.line)))


def _reasons(node: ManifestNode, spec: ModelSpec | None) -> Iterator[tuple[str, int]]:
    """Yield reasons with the offset of their SQL."""
    yield from ((reason, 0) for reason in node.opaque)
    if spec is not None:
        for body in (*spec.query.ctes.values(), spec.query.body):
            for opaque_body in _wholes(body):
                yield from ((reason, opaque_body.start) for reason in opaque_body.reasons)


def _wholes(body: Body) -> Iterator[OpaqueBody]:
    match body:
        case OpaqueBody():
            yield body
        case SqlUnion(sides=sides):
            for side in sides:
                yield from _wholes(side)
        case Select(relations=relations):
            for relation in relations:
                if isinstance(relation.input, DerivedTable):
                    yield from _wholes(relation.input.query)


def _one(node: ManifestNode, reason: str, line: int, target_path: str) -> OpaqueSql:
    located = _LOCATED_REASON.fullmatch(reason)
    why = located["reason"] if located else reason
    return OpaqueSql(
        model=node.name,
        path=node.path,
        compiled_path=f"{target_path}/{artifact_path(node.compiled_path or '')}"
        if node.compiled_path
        else "",
        line=int(located["line"]) if located else line,
        reason=why,
        text=located["text"] if located else "",
        remedy=opaque_remedy(why),
    )
