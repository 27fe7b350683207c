"""Runs a plan over small tables, node by node in SQLite: what an optimized plan must give again.

Each node becomes a table of its own, so that nothing is evaluated on other rows than the plan says.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence

from millstream.core.expressions import Expression, render_sql
from millstream.plan.nodes import (
    Aggregate,
    Binary,
    Decode,
    Dedupe,
    Expand,
    Filter,
    Measure,
    Node,
    Output,
    Plan,
    Project,
    Repartition,
    SeedScan,
    TopicScan,
    Union,
    Watermark,
)
from millstream.plan.nodes.order import in_order

Row = tuple[int | None, ...]


class RowFailedError(Exception):
    """A function raised on a row that it was given."""


def result(plan: Plan, columns: Sequence[str], tables: dict[str, list[Row]]) -> list[Counter[Row]]:
    """Return the rows of each output; `tables` has those of each relation, under the same `columns`."""
    connection = sqlite3.connect(":memory:")
    connection.create_function("py_f", 1, _python)
    connection.create_function("mycast", 1, _cast)
    connection.create_function("rand", 0, lambda: 0.5)
    try:
        for name, rows in tables.items():
            connection.execute(f'create table "{name}" ({", ".join(columns)})')
            marks = ", ".join("?" for _ in columns)
            connection.executemany(f'insert into "{name}" values ({marks})', rows)
        names: dict[int, str] = {}
        for index, node in enumerate(in_order(plan.outputs)):
            names[id(node)] = f"n{index}"
            if not isinstance(node, TopicScan):
                query = _query(node, [names[id(input_node)] for input_node in node.inputs])
                connection.execute(f"create table n{index} as {query}")
        return [Counter(connection.execute(f"select * from {names[id(o)]}").fetchall()) for o in plan.outputs]
    except sqlite3.OperationalError as error:
        if "raised exception" in str(error):
            raise RowFailedError from error
        raise
    finally:
        connection.close()


def _python(value: int | None) -> int | None:
    if value == 5:
        raise ValueError(value)
    return None if value is None else value * 7 % 5


def _cast(value: int | None) -> int | None:
    if value == 4:
        raise ValueError(value)
    return value


def _query(node: Node, inputs: list[str]) -> str:
    match node:
        case Decode() | SeedScan():
            return f'select {", ".join(node.names)} from "{node.relation}"'
        case Filter():
            # Otherwise SQLite asks in an order of its own.
            passes = "true"
            for condition in reversed(node.conditions):
                passes = f"case when {render_sql(condition)} then {passes} else false end"
            return f"select * from {inputs[0]} where {passes}"
        case Project():
            return f"select {_items((i.name, i.expression) for i in node.items)} from {inputs[0]}"
        case Repartition() | Watermark() | Output():
            return f"select * from {inputs[0]}"
        case Dedupe():
            return f"select * from {inputs[0]} group by {', '.join(node.keys)}"
        case Expand():
            column, call = (
                node.generated[0].name,
                render_sql(node.call).removeprefix("explode(").removesuffix(")"),
            )
            some = "true" if node.outer else f"{call} is not null"
            return f"select i.*, {call} + n as {column} from {inputs[0]} i, (select 0 n union select 1) where {some}"
        case Aggregate():
            items = ", ".join(
                [_items((k.name, k.expression) for k in node.keys), *map(_measure, node.measures)]
            )
            grouped = ", ".join(render_sql(k.expression) for k in node.keys)
            return f"select {items} from {inputs[0]}" + (f" group by {grouped}" if grouped else "")
        case Union():
            return " union all ".join(f"select * from {relation}" for relation in inputs)
        case Binary():
            return _join(node, *inputs)
    raise TypeError(node)


def _measure(measure: Measure) -> str:
    where = f" filter (where {render_sql(measure.condition)})" if measure.condition else ""
    return f"{render_sql(measure.call)}{where} as {measure.name}"


def _items(items: Iterable[tuple[str, Expression]]) -> str:
    return ", ".join(f"{render_sql(expression)} as {name}" for name, expression in items)


def _join(node: Binary, left: str, right: str) -> str:
    of = {j.name: f"{'l' if j.side == 'left' else 'r'}.{j.source}" for j in node.joined}
    on = (
        " and ".join(f"({render_sql(condition, ref=lambda ref: of[ref.column])})" for condition in node.on)
        or "true"
    )
    columns = ", ".join(f"{of[name]} as {name}" for name in node.names)
    if node.kind in {"semi", "anti"}:
        negated = "not " if node.kind == "anti" else ""
        exists = f"exists (select 1 from {right} r where {on})"
        return f"select {columns} from {left} l where {negated}{exists}"
    return f"select {columns} from {left} l {node.kind} join {right} r" + (
        "" if node.kind == "cross" else f" on {on}"
    )
