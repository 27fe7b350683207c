"""The `timestamp` of a sink that reads columns which only FROM has: one more item of its SELECT.

select id, amount from orders, timestamp='ordered_at'
select id, amount, ordered_at as _millstream_time from orders
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from millstream.compile.options import as_time, check_record_time
from millstream.core.expressions import join_pieces
from millstream.plan.from_sql.catalog import PlanDiagnostic
from millstream.plan.from_sql.record_parts import TIMESTAMP_OPTION
from millstream.plan.nodes import RECORD_TIME
from millstream.sql.query import Select, SelectItem, SqlQuery
from millstream.sql.values import Analysis, InputRelation

_SELECT = len("select")


def query_with_time(
    sql: str, query: SqlQuery, time: str, relation: InputRelation, analyse: Callable[[str], Analysis]
) -> tuple[SqlQuery, list[PlanDiagnostic]] | None:
    """Return the query of a model with the time of its records, which is not among its columns.

    None if its SELECT has no such column either, or is one of those that can't have another item.
    """
    body = query.body
    if not isinstance(body, Select) or body.distinct or body.hints:
        return None
    after = body.start + _SELECT
    analysis = analyse(f"{sql[:after]} {time} as {RECORD_TIME}, {sql[after:]}")
    wider = analysis.query
    if analysis.diagnostics or wider is None or not isinstance(wider.body, Select):
        return None
    first, *others = wider.body.items
    diagnostics = check_record_time(relation, time, first.expression)
    time_of_row = as_time(first.expression)
    if time_of_row.column:
        # Only the columns that SQL selects are event times.
        pieces = join_pieces(("timestamp_micros(unix_micros(", *time_of_row.pieces, "))"))
        time_of_row = replace(time_of_row, pieces=pieces, atomic=True)
    items = (*others, SelectItem(RECORD_TIME, time_of_row))
    timed: Any = replace(wider.body, items=items)
    return replace(
        wider, body=timed, forms=query.forms, text=query.text, called=query.called, changing=query.changing
    ), diagnostics


def is_time_problem(plan_diagnostic: PlanDiagnostic) -> bool:
    return plan_diagnostic.option == TIMESTAMP_OPTION and plan_diagnostic.code != "MS521"
