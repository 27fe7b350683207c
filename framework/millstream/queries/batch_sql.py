"""The SQL of a query whose outputs read each micro-batch: the batch's rows, and a SELECT for each output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, quote_name, replace_columns
from millstream.core.types import BOOLEAN
from millstream.plan.nodes import Node, Output
from millstream.queries.checks import (
    check_rows,
    counting_sql,
    failed_rows,
    failing_rows_sql,
    sends_dead_letters,
)
from millstream.queries.emit.draft import Draft
from millstream.queries.emit.fuse import unused_name
from millstream.queries.emit.names import node_name
from millstream.queries.emit.steps import Step
from millstream.queries.emit.text import EmittedCte, SelectWriter, write_statement
from millstream.queries.emit.walk import EmitOptions, emit_sql
from millstream.queries.records import RecordColumns, needs_columns, select_records
from millstream.queries.removed_models import NEVER, is_former
from millstream.queries.writing import QueryPart, QueryPlanning, as_cte

BRANCH = "_branch"
"""The part that a row of a batch belongs to; the columns of the other parts are NULL in that row."""


class OutputSql(Struct, frozen=True):
    """The SQL of an output over the view of a batch."""

    sql: str
    deletes: bool = False
    """The rows have a column `_deleted`."""
    counts_sql: str = ""
    """Counts the rows that fail data tests."""
    stops_sql: str = ""
    """Shows the rows that stop the query."""
    dead_letters: str = ""
    """Records of the rows that are sent to dead letters."""
    failed_sql: str = ""
    """The rows as dead letters, in case that they can't be written."""


class Batches(Struct, frozen=True):
    steps: tuple[Step, ...]
    sql: str
    view: str
    rows: tuple[OutputSql, ...]
    """Per output that is not a former model's."""


def batches_sql(parts: Sequence[QueryPart], planning: QueryPlanning) -> Batches:
    """Return the SQL of a batch and its outputs."""
    views = planning.views
    stepped = planning.steps([part.trunk for part in parts], ())
    drafts = [final.draft for final in stepped.emitted.finals]
    steps = (*planning.shared.steps, *stepped.steps)
    ctes = [*planning.shared.ctes, *stepped.emitted.ctes]
    used = [*views.names, *(cte.name for cte in ctes), *(step.name for step in steps)]
    if len(parts) == 1:
        view = unused_name(f"{_called(parts[0])}_batch", used)
        sql = write_statement(ctes, SelectWriter(drafts[0], views.of).text())
        rows = tuple(_delivery(output, parts[0], view, planning, drafts[0]) for output in _live(parts[0]))
        return Batches(steps, sql, view, rows)
    names: list[str] = []
    for part, draft in zip(parts, drafts, strict=True):
        names.append(unused_name(_called(part), [*used, *names, BRANCH]))
        ctes.append(EmittedCte(names[-1], SelectWriter(draft, views.of).text()))
    view = unused_name("batch", [*used, *names])
    output_rows = []
    for part, name, draft in zip(parts, names, drafts, strict=True):
        own_rows = EmittedCte(name, f"select\n  {quote_name(name)}.*\nfrom {view}\nwhere {BRANCH} = '{name}'")
        output_rows += [_delivery(output, part, name, planning, draft, own_rows) for output in _live(part)]
    sides = _tagged(names, [part.former for part in parts])
    return Batches(steps, write_statement(ctes, "\nunion all\n".join(sides)), view, tuple(output_rows))


def _called(part: QueryPart) -> str:
    only = part.outputs[0].label if len(part.outputs) == 1 else ""
    return only or node_name(part.trunk)


def _live(part: QueryPart) -> Iterator[Output]:
    return (output for output in part.outputs if not is_former(output.model))


def _tagged(names: Sequence[str], former: Sequence[bool]) -> list[str]:
    selects: list[str] = []
    for name, silent in zip(names, former, strict=True):
        members = [f"{'struct(*)' if column == name else 'null'} as {quote_name(column)}" for column in names]
        items = ",\n  ".join([f"'{name}' as {BRANCH}", *members])
        selects.append(f"select\n  {items}\nfrom {quote_name(name)}")
        if silent:
            selects[-1] += f"\nwhere {NEVER.text}"
    return selects


def _delivery(
    output: Output,
    part: QueryPart,
    view: str,
    planning: QueryPlanning,
    rows: Draft,
    branch: EmittedCte | None = None,
) -> OutputSql:
    views = planning.views

    def leaf(node: Node) -> str | None:
        return view if node is part.trunk else views.leaf(node)

    without_deletes = frozenset[str]() if rows.deleted is not None else frozenset((view,))
    how = EmitOptions(locate_calls=True, without_deletes=without_deletes)
    emitted = emit_sql((output,), leaf, deletes=planning.deletes, reads=views.of, how=how)
    draft = emitted.finals[0].draft
    ctes = [*((branch,) if branch else ()), *emitted.ctes]
    stored = output.materialization
    recorded = stored.sends_records or stored.failed_to
    if output.checks or output.observed or (recorded and needs_columns(draft, output)):
        draft = as_cte(draft, output.label or node_name(output), ctes, views)
    headers = output.keeps_headers or any(item.name.startswith("headers.") for item in output.extras)
    letters = stored.failed_to or sends_dead_letters([output])
    look = RecordColumns(bool(headers or letters), output.timed)
    rows, counts_sql, stops_sql, dead_letters = draft, "", "", ""
    if output.checks or output.observed:
        checked = check_rows(draft, output, look)
        rows, counts_sql = checked.rows, write_statement(ctes, counting_sql(draft, output, checked, views.of))
        if stops := failing_rows_sql(draft, output, checked, views.of):
            stops_sql = write_statement(ctes, stops)
        dead_letters = "".join(
            write_statement(ctes, SelectWriter(letter, views.of).text()) for letter in checked.dead_letters
        )
    if stored.sends_records:
        rows = select_records(rows, output, look)
    else:
        for item in output.extras:
            rows = _deleting(rows, item.expression) if item.name == "delete_when" else rows
    failed = SelectWriter(failed_rows(rows, output, look), views.of).text() if stored.failed_to else ""
    sql = write_statement(ctes, SelectWriter(rows, views.of).text())
    failed_sql = write_statement(ctes, failed) if failed else ""
    return OutputSql(sql, rows.deleted is not None, counts_sql, stops_sql, dead_letters, failed_sql)


def _deleting(draft: Draft, when: Expression) -> Draft:
    """Also delete rows for which `delete_when` holds."""
    condition = replace_columns(when, lambda ref: draft.items.get(ref.column))
    before = (*draft.deleted.pieces, " or ") if draft.deleted is not None else ()
    pieces = (*before, "coalesce(", *condition.pieces, ", false)")
    return replace(
        draft, deleted=replace(condition, pieces=pieces, type=BOOLEAN, nullable=False, atomic=False)
    )
