"""Data tests as values: SQL that finds the wrong rows of a relation.

`millstream test` runs them over stored rows. A `RowTest` needs a single row, so a query can also apply it
before the row is stored (`plan.nodes.RowCheck`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from millstream.compile.manifest import ManifestNode
from millstream.core.expressions import sql_literal
from millstream.core.node_id import NodeId
from millstream.project.values import Severity


class RowTest(Struct, frozen=True):
    """Rows of `relation` fail if the condition `wrong` is true."""

    id: NodeId
    relation: NodeId
    wrong: str
    severity: Severity = "error"


class TotalTest(Struct, frozen=True):
    """`wrong` is a condition on an aggregate of all rows; `report` is SQL for a text with the result."""

    id: NodeId
    relation: NodeId
    wrong: str
    report: str
    severity: Severity = "error"

    __test__ = False


class QueryTest(Struct, frozen=True):
    """A query for the wrong rows; it reads `relations`, as `models.x` and the like."""

    id: NodeId
    sql: str
    relations: tuple[NodeId, ...]
    severity: Severity = "error"
    at_most: int = 0
    """The number of tolerated rows."""


DataTest = RowTest | TotalTest | QueryTest


NAMES = re.compile(r"('(?:[^'\\]|\\.)*')|\b((?:models|seeds)\.\w+|sources\.\w+\.\w+)\b")
"""Texts in SQL, and the names of relations."""


def relations_of(test: DataTest) -> set[NodeId]:
    """Return all relations that a test reads, those that its conditions name in subqueries, too."""
    match test:
        case QueryTest(sql=sql, relations=relations):
            texts, ids = [sql], set(relations)
        case TotalTest(relation=relation, wrong=wrong, report=report):
            texts, ids = [wrong, report], {relation}
        case RowTest(relation=relation, wrong=wrong):
            texts, ids = [wrong], {relation}
    return ids | {relation_id(name[2]) for text in texts for name in NAMES.finditer(text) if name[2]}


def relation_id(name: str) -> NodeId:
    """Return the id of a relation by its name in SQL."""
    kind, _, rest = name.partition(".")
    return NodeId.parse(f"{kind[:-1]}.{rest}")


def data_test(node: ManifestNode, sql: Mapping[NodeId, str]) -> DataTest:
    """Return the test of a node; `sql` contains the tests that are files or macros."""
    severity: Severity = node.config.get("severity", "error")
    if node.id in sql:
        return QueryTest(node.id, sql[node.id], node.depends_on, severity)
    arguments = dict(node.meta.get("arguments") or {})
    column, relation = node.meta.get("column"), tested_relation(node)
    if (wrong := failing_condition(str(node.test), column, arguments)) is not None:
        return RowTest(node.id, relation, wrong, severity)
    match node.test:
        case "row_count" | "freshness":
            return _total(node, relation, arguments, severity)
        case "unique":
            relations: tuple[NodeId, ...] = (relation,)
            query = _unique(relation, column, arguments)
        case _:
            query, relations = _unrelated(relation, column, arguments), node.depends_on
    return QueryTest(node.id, query, relations, severity, int(arguments.get("at_most") or 0))


def failing_condition(test: str, column: str | None, arguments: Mapping[str, Any]) -> str | None:
    """Return the condition of rows that fail a test; None if the test needs more than a single row."""
    match test:
        case "not_null":
            wrong = f"{_quoted(column)} is null"
        case "accepted_values":
            values = ", ".join(_literal(value) for value in arguments["values"])
            wrong = f"{_quoted(column)} not in ({values})"
        case "expression":
            wrong = f"not ({arguments['expression']})"
        case _:
            return None
    where = arguments.get("where")
    return f"({where}) and {wrong}" if where else wrong


def sql_name(relation: NodeId) -> str:
    """Return the name of a relation in SQL: `models.x`, `sources.s.t`, `seeds.x`."""
    kind, name = relation.kind, relation.name
    return f"{kind}s.{name}"


def tested_relation(node: ManifestNode) -> NodeId:
    """Return the tested relation; a test may depend on others, too."""
    return NodeId.parse(node.meta.get("relation") or "") or node.depends_on[0]


def _total(
    node: ManifestNode, relation: NodeId, arguments: Mapping[str, Any], severity: Severity
) -> TotalTest:
    where = arguments.get("where")
    if node.test == "freshness":
        time = _quoted(arguments.get("column") or "_timestamp")
        newest = f"max({time})" + (f" filter (where {where})" if where else "")
        wrong = f"coalesce({newest} < current_timestamp() - interval {arguments['within']}, true)"
        report = f"concat('newest row: ', coalesce(cast({newest} as string), 'none'))"
        return TotalTest(node.id, relation, wrong, report, severity)
    count = f"count_if({where})" if where else "count(*)"
    bounds = [
        f"{count} {operator} {arguments[name]}"
        for name, operator in (("min", "<"), ("max", ">"), ("equals", "<>"))
        if arguments.get(name) is not None
    ]
    return TotalTest(node.id, relation, " or ".join(bounds), f"concat({count}, ' rows')", severity)


def _unique(relation: NodeId, column: str | None, arguments: Mapping[str, Any]) -> str:
    names = arguments.get("columns") or column or ""
    columns = [names] if isinstance(names, str) else list(names)
    quoted_columns = ", ".join(map(_quoted, columns))
    where = f" where {arguments['where']}" if arguments.get("where") else ""
    return (
        f"select {quoted_columns}, count(*) as rows from {sql_name(relation)}{where} "  # noqa: S608 - of the project
        f"group by {quoted_columns} having count(*) > 1"
    )


def _unrelated(relation: NodeId, column: str | None, arguments: Mapping[str, Any]) -> str:
    quoted_column, field = _quoted(column), _quoted(arguments["field"])
    where = f" and ({arguments['where']})" if arguments.get("where") else ""
    other = sql_name(NodeId.parse(str(arguments["to"])))
    return (
        f"select given.* from {sql_name(relation)} as given where given.{quoted_column} is not null{where} "  # noqa: S608
        f"and not exists "
        f"(select 1 from {other} as other where other.{field} = given.{quoted_column})"
    )


def _literal(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case _:
            return sql_literal(str(value))


def _quoted(name: Any) -> str:
    return "`" + str(name).replace("`", "``") + "`"
