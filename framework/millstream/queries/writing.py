"""The SQL of a query whose rows are records: a SELECT for each part, and a fan-out if outputs share rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.plan.nodes import Decode, Filter, Node, Output, ReadColumns
from millstream.plan.nodes.order import in_order
from millstream.plan.walk import below
from millstream.queries.checks import check_rows, failure_markers, has_markers, stop_conditions
from millstream.queries.dead_letters import (
    add_null_timestamp,
    dead_letter,
    decoded_only,
    fail_condition,
    failed_call,
    skipped_row,
)
from millstream.queries.emit.draft import Draft, of_relation
from millstream.queries.emit.fuse import unused_name
from millstream.queries.emit.names import node_name
from millstream.queries.emit.steps import Step, SteppedSql, in_steps
from millstream.queries.emit.text import EmittedCte, SelectWriter, indent_lines, write_statement
from millstream.queries.emit.walk import EmitOptions, FinalSelect
from millstream.queries.fan_out import fits_fan_out
from millstream.queries.measures import metric_markers
from millstream.queries.python_calls import CallLevels, LiftedDraft, without_nulls
from millstream.queries.records import RecordColumns, fan_out, needs_columns, select_records
from millstream.queries.removed_models import NEVER, is_former
from millstream.queries.row_logs import log_markers
from millstream.queries.shared_rows import SharedCtes
from millstream.queries.view_names import Views, scan_of

RECORDS = "_records"
"""The column with the records of one row."""


class QueryPart(Struct, frozen=True, eq=False):
    """Outputs above one node that all their rows pass."""

    outputs: tuple[Output, ...]
    trunk: Node

    @property
    def direct(self) -> bool:
        """Whether one SELECT over the trunk's rows can write the records of all outputs."""
        return len(self.outputs) == 1 or all(fits_fan_out(output, self.trunk) for output in self.outputs)

    @property
    def former(self) -> bool:
        """Whether all of its models are former ones; dead letters have none."""
        return bool(self.outputs) and all(is_former(output.model) for output in self.outputs)

    @property
    def source(self) -> Decode | None:
        """The Decode whose records are its rows, one to one."""
        node = below(self.trunk, Filter)
        return node if isinstance(node, Decode) and (node.fields or node.key) else None

    @property
    def placed(self) -> bool:
        """Whether each row comes from exactly one record of a topic."""
        return self.source is not None

    @property
    def calls(self) -> bool:
        """Whether Python functions are called above a topic's decoded records."""
        nodes = in_order(self.outputs) if self.placed else ()
        return any(expression.functions for node in nodes for expression in node.expressions)

    def policy(self, output: Output) -> str:
        """Return what happens to a row on which one of an output's functions fails."""
        source = self.source
        return str(output.options.get("on_bad_record") or (source.on_bad_record if source else "fail"))

    @property
    def skips(self) -> tuple[NodeId, ...]:
        """The models that leave out rows on which a function fails."""
        if not self.calls:
            return ()
        return tuple(output.model for output in self.outputs if self.policy(output) == "skip")

    @property
    def records(self) -> Literal["", "place", "whole"]:
        """What each row must keep of its record."""
        if not self.placed:
            return ""
        sent = self.calls and any(self.policy(output) == "dead_letter" for output in self.outputs)
        return "whole" if sent else "place"


class QueryPlanning(Struct, frozen=True, eq=False):
    """What all parts of one query share when they are written."""

    views: Views
    shared: SharedCtes
    deletes: bool = False
    dead_letters: Decode | None = None
    """The source whose dead letters the query sends."""
    fails_by: Mapping[NodeId, ReadColumns] = {}
    """What makes the query fail if it is bad, by source."""
    drops_by: frozenset[str] = frozenset()
    """The columns by which models of the query drop bad records."""
    sends_by: frozenset[str] = frozenset()
    """Those of all models: what any of them drops is sent to dead letters."""
    logging: frozenset[str] = frozenset()
    """The Python functions that log something."""

    def leaf(self, node: Node) -> str | None:
        return self.shared.names.get(id(node)) or self.views.leaf(node)

    def steps(
        self,
        roots: Sequence[Node],
        used: Sequence[str],
        trunks: Sequence[Node] = (),
        records: Literal["", "place", "whole"] = "",
    ) -> SteppedSql:
        how = EmitOptions(
            trunks=frozenset(map(id, trunks)),
            keep_bad=self.dead_letters is not None,
            records=records,
            reserved=(*self.shared.used, *used),
            locate_calls=True,
            fails_by=self.fails_by,
            drops_by=self.drops_by,
            sends_by=self.sends_by,
        )
        return in_steps(roots, self.leaf, deletes=self.deletes, reads=self.views.of, how=how)


def records_sql(parts: Sequence[QueryPart], planning: QueryPlanning) -> tuple[tuple[Step, ...], str]:
    """Return one statement with all records, and the steps before it."""
    look = _look(parts, planning)
    steps: list[Step] = list(planning.shared.steps)
    ctes: list[EmittedCte] = []
    bodies: list[str] = []
    for part in parts:
        tested = any(output.checks or output.observed for output in part.outputs)
        several = len(part.outputs) != 1 or planning.dead_letters is not None or part.calls or tested
        trunks = [part.trunk] if several or part.placed else []
        used = [*(cte.name for cte in ctes), *(step.name for step in steps)]
        stepped = planning.steps([*part.outputs, *trunks], used, trunks, part.records)
        part_ctes = list(stepped.emitted.ctes)
        finals = stepped.emitted.finals
        base = finals[-1].draft
        drafts = [
            _columns(output, final, part_ctes, planning)
            for output, final in zip(part.outputs, finals, strict=False)
        ]
        if several:
            body = _fan_out(part, drafts, base, part_ctes, planning, look)
        else:
            position_alias = base.sources[0].alias if part.placed else None
            rows = select_records(drafts[0], part.outputs[0], look, position_alias)
            body = SelectWriter(rows, planning.views.of).text()
        steps += stepped.steps
        ctes += part_ctes
        bodies.append(without_rows(body) if part.former else body)
    sql = write_statement((*planning.shared.ctes, *ctes), "\nunion all\n".join(bodies))
    return tuple(steps), sql


def dead_letter_sources(parts: Sequence[QueryPart], planning: QueryPlanning) -> tuple[Decode, ...]:
    """Return the sources whose records can be sent on as dead letters."""
    sources = [planning.dead_letters] if planning.dead_letters is not None else []
    sources += [part.source for part in parts if part.records == "whole" and part.source is not None]
    return tuple({source.relation: source for source in sources}.values())


def _look(parts: Sequence[QueryPart], planning: QueryPlanning) -> RecordColumns:
    outputs = [output for part in parts for output in part.outputs]
    extras = [item.name for output in outputs for item in output.extras]
    return RecordColumns(
        headers=bool(dead_letter_sources(parts, planning))
        or any(part.placed for part in parts)
        or has_markers(outputs)
        or any(name.startswith("headers.") for name in extras)
        or any(output.keeps_headers for output in outputs),
        timestamp=any(output.timed for output in outputs),
    )


def _columns(output: Output, final: FinalSelect, ctes: list[EmittedCte], planning: QueryPlanning) -> Draft:
    draft = final.draft
    if needs_columns(draft, output):
        draft = as_cte(draft, output.label or node_name(output), ctes, planning.views)
    # Models drop bad records themselves, unless these are bad for all.
    source = planning.dead_letters
    return decoded_only(draft) if source is not None and not source.good else draft


def _fan_out(
    part: QueryPart,
    drafts: Sequence[Draft],
    base: Draft,
    ctes: list[EmittedCte],
    planning: QueryPlanning,
    look: RecordColumns,
) -> str:
    """Return the SELECT of all records of each row; calls of functions become columns below it."""
    first = base
    position_alias = base.sources[0].alias if part.placed else None
    records: list[Draft] = []
    if (source := planning.dead_letters) is not None:
        records.append(dead_letter(base, source.relation, scan_of(source).dead_letters))
    if part.calls:
        used = [*base.items, *(name for draft in drafts for name in draft.items)]
        calls = CallLevels(base.sources[0].alias, used, planning.logging)
        for output, draft in zip(part.outputs, drafts, strict=True):
            lifted = calls.lift(draft, output.model.name)
            model_rows, dead_letters = _with_calls(part, output, lifted, calls, base)
            records += [*dead_letters, *_tested(model_rows, output, base, look, position_alias)]
        base = _called(base, calls, ctes, planning.views)
    else:
        for output, draft in zip(part.outputs, drafts, strict=True):
            records += _tested(_silent(draft, output), output, base, look, position_alias)
    records = [add_null_timestamp(draft) if look.timestamp else draft for draft in records]
    assert all(draft.sources == first.sources for draft in drafts), "not written over the rows of the part"
    rows = SelectWriter(Draft({RECORDS: fan_out(records)}, base.sources), planning.views.of).text()
    markers = " or key is not null" if part.skips or has_markers(part.outputs) else ""
    # Spark compiles an array that is a column, in pieces that the JVM optimizes well for any number of
    # models. As the argument of a generator, or filtered by a lambda, Spark would interpret it.
    return (
        f"select\n  {', '.join(records[0].items)}\nfrom (\n  {indent_lines(rows)}\n)\n"
        f"lateral view inline({RECORDS}) records\nwhere topic is not null{markers}"
    )


def _silent(draft: Draft, output: Output) -> Draft:
    """Return no rows of a former model. They are read, or Catalyst would remove them from the state."""
    if not is_former(output.model):
        return draft
    return replace(draft, where=(*draft.where, NEVER), deleted=None)


def without_rows(sql: str) -> str:
    """Return SQL that yields no rows, which Catalyst can't know: it would remove the state."""
    return f"select * from (\n  {indent_lines(sql)}\n)\nwhere {NEVER.text}"  # noqa: S608 -- generated SQL


def _tested(
    rows: Draft, output: Output, base: Draft, look: RecordColumns, position_alias: str | None
) -> list[Draft]:
    """Return the records of the rows that pass its data tests, and markers and dead letters of the others."""
    if not output.checks:
        return [
            *metric_markers(base, rows, output),
            *log_markers(base, rows, output, position_alias),
            select_records(rows, output, look, position_alias),
        ]
    checked = check_rows(rows, output, look, position_alias)
    passed = checked.rows
    if stops := stop_conditions(checked, output, position_alias):
        passed = replace(passed, where=(*without_nulls(passed.where), *stops))
    return [
        *failure_markers(base, rows, checked),
        *metric_markers(base, passed, output),
        *log_markers(base, passed, output, position_alias),
        *checked.dead_letters,
        select_records(passed, output, look, position_alias),
    ]


def _with_calls(
    part: QueryPart, output: Output, lifted: LiftedDraft, calls: CallLevels, base: Draft
) -> tuple[Draft, list[Draft]]:
    """Return a model's rows without failed ones, and the markers or dead letters of these."""
    policy, model = part.policy(output), output.model.name
    where, dead_letters = list(lifted.draft.where), []
    if lifted.columns and policy == "fail":
        # A call may also be made for other models, and fail on a row that this model filters out.
        where = without_nulls(where)
    for name in lifted.columns:
        if policy == "fail":
            where.append(fail_condition(base, model, calls.error(name)))
            continue
        where.append(calls.good(name))
        if policy == "dead_letter" and part.source is not None:
            dead_letters.append(
                failed_call(base, scan_of(part.source).dead_letters, model, calls.error(name))
            )
    if lifted.columns and policy == "skip":
        dead_letters.append(skipped_row(base, str(output.model), [calls.failed(lifted.columns)]))
    return replace(lifted.draft, where=tuple(where)), dead_letters


def _called(base: Draft, calls: CallLevels, ctes: list[EmittedCte], views: Views) -> Draft:
    """Write the columns of calls, level by level, over the rows of a part."""
    (source,) = base.sources
    name = source.name
    for level in calls.levels:
        select = SelectWriter(Draft(level, (replace(source, name=name),)), views.of)
        sql = select.text(["*", *select.items()])
        name = unused_name(f"{source.name}_called", [*(cte.name for cte in ctes), *views.names])
        ctes.append(EmittedCte(name, sql))
    return replace(base, sources=(replace(source, name=name),))


def as_cte(draft: Draft, name: str, ctes: list[EmittedCte], views: Views) -> Draft:
    """Calculate columns in a CTE, for records that need them more than once."""
    name = unused_name(name, [*(cte.name for cte in ctes), *views.names])
    ctes.append(EmittedCte(name, SelectWriter(draft, views.of).text()))
    return of_relation(name, draft.items.items(), deleted=draft.deleted is not None)
