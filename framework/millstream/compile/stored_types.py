"""Finds columns of types that a table's store, or the format of a sink, can't hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from millstream.core.types import NULL, VARIANT, Type, types_within
from millstream.formats.registry import format_of
from millstream.outputs.registry import Materialization
from millstream.plan.from_sql.catalog import ModelSpec, PlanProblem
from millstream.sql.query import Select, SqlUnion
from millstream.stores.declaration import StoreDeclaration


def check_stored_types(spec: ModelSpec, store: StoreDeclaration) -> list[PlanProblem]:
    """Return the columns of a table or a sink that can't be written; `store` is where a table is."""
    stored = spec.materialization
    if not stored.stored_as:
        return []
    where = f"a record in {stored.sink.encoding}" if stored.sink is not None else store.title
    diagnostics: list[PlanProblem] = []
    for column in spec.columns:
        wrong = next(_refused(stored, store, column.type), None)
        if wrong is None:
            continue
        which = f"is of type {wrong}" if wrong == column.type else f"contains values of type {wrong}"
        message = f"{where} can't hold '{column.name}', which {which}"
        start, stop = _span(spec, column.name)
        remedy = _remedy(column.name, column.type, wrong, by_name=not stop)
        option = "" if stop else "materialized"
        diagnostics.append(PlanProblem(spec.id, "MS697", message, remedy, start, stop, option))
    return diagnostics


def _refused(stored: Materialization, store: StoreDeclaration, type_: Type) -> Iterator[Type]:
    """Yield the types within a column's type that can't be written."""
    if (sink := stored.sink) is not None:
        unwritten = format_of(sink.encoding).unwritten
        yield from (inner for inner in types_within(type_) if inner in unwritten)
        return
    yield from (inner for inner in types_within(type_) if str(inner) in store.unstored)
    yield from (
        inner for inner in islice(types_within(type_), 1, None) if str(inner) in store.unstored_within
    )


def _remedy(name: str, type_: Type, wrong: Type, *, by_name: bool) -> str:
    """Say what to compute instead; `by_name` if no expression of the SQL is the column, such as below `*`."""
    text = re.sub(rf"\b{wrong}\b(?!:)", "string", str(type_))
    if wrong == NULL:
        return f"give NULLs and empty values a type: cast(… as {text})"
    if wrong == VARIANT:
        return f"write to_json({name})" if type_ == VARIANT else "write to_json(…) of these values"
    number = "; or compute a number, such as datediff(b, a), or unix_micros(b) - unix_micros(a) of timestamps"
    cast = f"select * except ({name}), cast({name} as {text}) as {name}" if by_name else f"cast(… as {text})"
    return f"cast it to text: {cast}{number if wrong == type_ else ''}"


def _span(spec: ModelSpec, name: str) -> tuple[int, int]:
    """Return where the SQL computes a column, if its last SELECT, or the first of a UNION, lists it."""
    body = spec.query.body
    while isinstance(body, SqlUnion):
        body = body.sides[0]
    items = body.items if isinstance(body, Select) else ()
    expression = next((item.expression for item in items if item.name.lower() == name.lower()), None)
    return (0, 0) if expression is None else (expression.start, expression.stop)
