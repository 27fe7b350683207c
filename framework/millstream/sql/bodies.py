"""Combines queries: unions, and the CTEs that are read."""

from __future__ import annotations

from typing import TypeGuard

from msgspec.structs import replace
from sqlglot import exp

from millstream.core.expressions import Expression, Ref
from millstream.sql.query import (
    Body,
    Cte,
    DerivedTable,
    From,
    Select,
    SelectItem,
    SetOperator,
    SqlQuery,
    SqlUnion,
    names_of,
)
from millstream.sql.result import BoundQuery
from millstream.sql.scope import BoundColumn

_OPERATORS: dict[type[exp.SetOperation], SetOperator] = {exp.Intersect: "intersect", exp.Except: "except"}


def set_body(
    node: exp.SetOperation, left: BoundQuery, right: BoundQuery, columns: list[BoundColumn]
) -> Body | None:
    """Return a set operation; nested UNION ALLs are flattened."""
    if left.body is None or right.body is None:
        return None
    first, second = left.body, right.body
    if node.args.get("by_name"):
        if not all(column.name for column in (*columns, *right.columns)):
            return None
        second = _in_order(second, right.columns)
    types = tuple(column.type for column in columns)
    operator, distinct = _OPERATORS.get(type(node), "union"), bool(node.args.get("distinct"))
    start, stop = first.start, second.stop
    if distinct or operator != "union":
        return SqlUnion(
            (first, second), distinct=distinct, types=types, start=start, stop=stop, operator=operator
        )
    sides = [
        inner
        for side in (first, second)
        for inner in (side.sides if _is_union_all(side) and side.types == types else (side,))
    ]
    return SqlUnion(tuple(sides), types=types, start=start, stop=stop)


def _is_union_all(body: Body) -> TypeGuard[SqlUnion]:
    return isinstance(body, SqlUnion) and not body.distinct and body.operator == "union"


def _in_order(body: Body, columns: list[BoundColumn]) -> Body:
    """Reorder the columns of a side of UNION BY NAME."""
    if isinstance(body, Select):
        by_name = {item.name.lower(): item for item in body.items}
        return replace(body, items=tuple(by_name[column.name.lower()] for column in columns))
    written = {name.lower(): name for name in names_of(body)}
    items = tuple(
        SelectItem(
            column.name,
            Expression(
                (Ref(written[column.name.lower()], "side"),), column.type, column.nullable, atomic=True
            ),
        )
        for column in columns
    )
    side = From("side", DerivedTable(body), tuple(written.values()))
    return Select(items, (side,), start=body.start, stop=body.stop)


def assemble_query(body: Body, ctes: dict[str, Body]) -> SqlQuery:
    """Return a query without unused CTEs."""
    read: set[str] = set()
    pending = [body]
    while pending:
        for name in _ctes(pending.pop()):
            if name not in read:
                read.add(name)
                pending.append(ctes[name])
    return SqlQuery(body, {name: body for name, body in ctes.items() if name in read})


def _ctes(body: Body) -> list[str]:
    match body:
        case Select():
            names: list[str] = []
            for joined in body.relations:
                match joined.input:
                    case Cte(name=name):
                        names.append(name)
                    case DerivedTable(query=inner):
                        names += _ctes(inner)
            inside = [subquery.body for subquery in body.subqueries if subquery.body is not None]
            return names + [name for inner in inside for name in _ctes(inner)]
        case SqlUnion():
            return [name for side in body.sides for name in _ctes(side)]
        case _:
            return []
