"""SQL that computes rows by weights: +1 for each added row of the input, -1 for each removed one.

It reads the changes and the stored rows, but not the input. This is only right for exact sums, and if the
stored row itself says whether its group still has rows: with `count(*)`.
"""

from __future__ import annotations

from collections.abc import Sequence

from millstream.core.expressions import quote_name, render_sql
from millstream.core.types import BIGINT, Decimal
from millstream.plan.maintained.names import RelationNames, renamed_columns
from millstream.plan.nodes.maintenance import STORED_TOUCHED, UNSURE, WEIGHT, view_of
from millstream.sql.call_pieces import call_arguments, pieces_text
from millstream.sql.query import AggregateCall, Body, Scan, Select
from millstream.sql.trees import called_function, is_distinct

_EXACT = "decimal(20, 0)"
"""Sums of integers are added as decimals: a sum that doesn't overflow has no step that does."""
_MOST_DIGITS = 38


def weigh_rows(body: Body, keys: Sequence[str], names: RelationNames) -> str:
    """Return the rows of a query with touched keys; empty if weights don't give them exactly.

    `UNSURE` is true if a sum could be NULL or 0: only the input says which.
    """
    if not isinstance(body, Select) or not _is_simple(body, keys):
        return ""
    (relation,) = body.relations
    if not isinstance(relation.input, Scan) or relation.input.relation.kind == "seed":
        return ""
    values = {measure.name: _argument(measure) for measure in body.measures}
    if not all(map(_is_exact, body.measures)) or not all(values.values()):
        return ""
    count = next((quote_name(measure.name) for measure in body.measures if _counts_rows(measure)), None)
    if count is None:
        return ""
    group = [quote_name(key.name) for key in body.keys or ()]
    stored, rows, unsure = [*group], [*group], ["false"]
    changed = [f"{render_sql(key.expression)} as {quote_name(key.name)}" for key in body.keys or ()]
    for index, measure in enumerate(body.measures):
        name, value, added, removed = (
            quote_name(measure.name),
            values[measure.name],
            f"_add_{index}",
            f"_no_{index}",
        )
        exact = f"cast({{}} as {_EXACT})" if measure.call.type == BIGINT else "{}"
        stored.append(f"{exact.format(name)} as {added}")
        changed.append(f"{exact.format(_by_weight(value, measure))} as {added}")
        rows.append(f"cast(sum({added}) as {measure.call.type}) as {name}")
        if measure.function == "sum":
            stored.append(f"0 as {removed}")
            changed.append(f"{_removed(value, measure)} as {removed}")
            unsure.append(f"(max({removed}) = 1 and sum({added}) = 0)")
    view = view_of("weighted", names.relations[relation.input.relation].index)
    source = f"select {renamed_columns(relation, names)}, {WEIGHT} from {view}"  # noqa: S608 -- names are quoted
    where = (
        [f"where {' and '.join(f'({render_sql(condition)})' for condition in body.where)}"]
        if body.where
        else []
    )
    items = ", ".join(quote_name(item.name) for item in body.items)
    return "\n".join((
        f"select {items}, {UNSURE} from (",  # noqa: S608
        f"select {', '.join(rows)}, {' or '.join(unsure)} as {UNSURE} from (",  # noqa: S608
        f"select {', '.join(stored)} from {STORED_TOUCHED}",  # noqa: S608
        "union all",
        f"select {', '.join(changed)} from ({source}) as {quote_name(relation.alias)}",  # noqa: S608
        *where,
        f") group by {', '.join(group)}) where {count} > 0",
    ))  # fmt: skip


def _is_simple(query: Select, keys: Sequence[str]) -> bool:
    """Return whether a query is groups of one relation, with just its keys and aggregates as columns."""
    if len(query.relations) != 1 or not query.keys or query.having or query.distinct:
        return False
    if query.windows or query.sets or query.subqueries:
        return False
    read = [*query.where, *(key.expression for key in query.keys)]
    for measure in query.measures:
        read += [measure.call] if measure.condition is None else [measure.call, measure.condition]
    computed = {key.name for key in query.keys} | {measure.name for measure in query.measures}
    return (
        all(
            expression.deterministic and not (expression.functions or expression.reads) for expression in read
        )
        and {item.name for item in query.items} == computed
        and all(item.expression.column == item.name for item in query.items)
        and {key.lower() for key in keys} == {key.name.lower() for key in query.keys}
    )


def _is_exact(measure: AggregateCall) -> bool:
    of = measure.call.type
    if measure.function == "sum":
        return of == BIGINT or (isinstance(of, Decimal) and of.precision < _MOST_DIGITS)
    return measure.function == "count"


def _counts_rows(measure: AggregateCall) -> bool:
    return measure.call.text == "count(*)" and measure.condition is None


def _argument(measure: AggregateCall) -> str:
    """Return the argument of an aggregate; empty if there are several, or DISTINCT."""
    if called_function(measure.call) != measure.function or is_distinct(measure.call):
        return ""
    arguments = call_arguments(measure.call)
    return pieces_text(arguments[0]) if len(arguments) == 1 else ""


def _by_weight(value: str, measure: AggregateCall) -> str:
    """Return what a changed row adds to an aggregate; NULL or 0 if nothing."""
    only = _only(value, measure)
    if measure.function == "count":
        return f"case when {only} then {WEIGHT} else 0 end"
    exact = f"cast({value} as {_EXACT})" if measure.call.type == BIGINT else f"({value})"
    return f"case when {only} then case when {WEIGHT} > 0 then {exact} else -{exact} end end"


def _removed(value: str, measure: AggregateCall) -> str:
    return f"case when {WEIGHT} < 0 and {_only(value, measure)} then 1 else 0 end"


def _only(value: str, measure: AggregateCall) -> str:
    """Return the condition under which a row has a part in an aggregate."""
    parts = [] if value == "*" else [f"({value}) is not null"]
    parts += [f"({render_sql(measure.condition)})"] if measure.condition is not None else []
    return " and ".join(parts) or "true"
