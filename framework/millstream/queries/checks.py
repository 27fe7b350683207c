"""Row checks: data tests of single rows, applied before a row is stored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import (
    Expression,
    Piece,
    Ref,
    any_of,
    join_pieces,
    replace_columns,
    sql_literal,
)
from millstream.core.node_id import NodeId
from millstream.core.types import BOOLEAN, STRING
from millstream.plan.nodes import Output, RowCheck
from millstream.queries.dead_letters import MODEL, REASON, skipped_row, time_header
from millstream.queries.emit.draft import RECORD, Draft
from millstream.queries.emit.text import Reads, SelectWriter
from millstream.queries.measures import measure_rows
from millstream.queries.records import HEADERS, RecordColumns, select_records
from millstream.queries.row_logs import gather_logs

WRONG_ROW = "a data test failed: "
"""The prefix of the error's text, by which it is recognised within Spark's message."""

WRONG_ROW_REMEDY = (
    "fix what makes such rows, or change the test; to go on without these rows, set its severity to drop or "
    "dead_letter, and back after the next build"
)

_LONGEST_VALUE = 80
"""Characters shown of a value of a failing row."""
TEST, ROW = "test", "row"
"""The columns of the SQL that shows failing rows."""

Fate = Literal["rows", "skipped", "dead_letters", "tests"]
"""What happens to the rows that are counted."""


class CheckedRows(Struct, frozen=True):
    """The rows of an output that are stored, and those that are not."""

    rows: Draft
    dead_letters: tuple[Draft, ...]
    """Dead letters: the records as they would have been sent, with the reason in a header."""
    wrong: tuple[tuple[RowCheck, Expression], ...]
    """Which rows fail, for each test."""


def check_rows(
    rows: Draft, output: Output, look: RecordColumns, position_alias: str | None = None
) -> CheckedRows:
    """Apply the tests of an output to its rows."""
    wrong = tuple((check, _wrong(check, rows)) for check in output.checks)
    passing = [_not(condition) for check, condition in wrong if check.keeps_out]
    sent = [(check, condition) for check, condition in wrong if check.severity == "dead_letter"]
    dead_letters = (_dead_letter(rows, output, look, position_alias, sent),) if sent else ()
    return CheckedRows(replace(rows, where=(*rows.where, *passing)), dead_letters, wrong)


def failure_markers(trunk: Draft, rows: Draft, checked: CheckedRows) -> list[Draft]:
    """Return a marker for each row that fails a test; without a topic it is counted, but not sent."""
    return [
        skipped_row(trunk, str(test_id(check)), (*rows.where, wrong))
        for check, wrong in checked.wrong
        if check.severity != "error"
    ]


def stop_conditions(checked: CheckedRows, output: Output, position_alias: str | None) -> list[Expression]:
    """Return conditions that stop the query at a row that fails a test."""
    return [
        _stop(wrong, check, checked.rows, output, position_alias)
        for check, wrong in checked.wrong
        if check.severity == "error"
    ]


def failing_rows_sql(rows: Draft, output: Output, checked: CheckedRows, views: Reads) -> str:
    """Return SQL that shows the rows which stop the query, by test; empty if no test does that."""
    shown = [
        replace(
            rows,
            items={
                TEST: Expression((sql_literal(str(test_id(check))),), STRING, nullable=False, atomic=True),
                ROW: Expression(_shown(check, rows, output), STRING, atomic=True),
            },
            where=(*rows.where, wrong),
            deleted=None,
        )
        for check, wrong in checked.wrong
        if check.severity == "error"
    ]
    return "\nunion all\n".join(SelectWriter(draft, views).text() for draft in shown)


def counting_sql(rows: Draft, output: Output, checked: CheckedRows, views: Reads) -> str:
    """Return SQL that counts the rows that fail each test, and those that are sent to dead letters."""
    model = output.model
    named = [(count_name("tests", test_id(check)), wrong) for check, wrong in checked.wrong]
    if sent := [[wrong] for check, wrong in checked.wrong if check.severity == "dead_letter"]:
        named.append((count_name("dead_letters", model), any_of(sent, BOOLEAN)))
    # These names contain a blank, so no column of the rows has one of them.
    counts = {
        name: replace(expression, pieces=join_pieces(("count_if(", *expression.pieces, ")")), atomic=True)
        for name, expression in named
    }
    passing = checked.rows.where[len(rows.where) :]
    counts = measure_rows(counts, rows, output, passing) | gather_logs(rows, output, passing)
    return SelectWriter(replace(rows, items=counts, deleted=None), views).text()


def count_name(fate: Fate, whose: NodeId) -> str:
    """Return the name of the column that counts rows: their fate, a blank, and the test or model."""
    return f"{fate} {whose}"


def test_id(check: RowCheck) -> NodeId:
    return NodeId("test", check.name)


def reporting_tests(outputs: Iterable[Output]) -> tuple[NodeId, ...]:
    """Return the ids of tests that report failing rows and don't stop the query."""
    checks = (check for output in outputs for check in output.checks)
    return tuple(test_id(check) for check in checks if check.severity != "error")


def has_markers(outputs: Iterable[Output]) -> bool:
    """Whether records include markers without a topic, for tests, metrics or logs."""
    return any(output.observed or reporting_tests([output]) for output in outputs)


def dead_letter_topic(output: Output) -> str:
    """Return the topic for rows of a model that fail a test."""
    return output.materialization.dead_letter_topic(output.model.name)


def sends_dead_letters(outputs: Iterable[Output]) -> bool:
    return any(check.severity == "dead_letter" for output in outputs for check in output.checks)


def _wrong(check: RowCheck, rows: Draft) -> Expression:
    """Return which rows fail a test: never NULL, and false for rows that only mark a delete."""
    wrong = replace_columns(check.wrong, lambda ref: rows.items.get(ref.column))
    pieces: tuple[Piece, ...] = ("coalesce(", *wrong.pieces, ", false)")
    if rows.deleted is not None:
        pieces = ("(not coalesce(", *rows.deleted.pieces, ", false) and ", *pieces, ")")
    return replace(wrong, pieces=join_pieces(pieces), type=BOOLEAN, nullable=False, atomic=True)


def _not(wrong: Expression) -> Expression:
    return replace(wrong, pieces=join_pieces(("not ", *wrong.pieces)), atomic=False)


def _dead_letter(
    rows: Draft,
    output: Output,
    look: RecordColumns,
    position_alias: str | None,
    sent: Sequence[tuple[RowCheck, Expression]],
) -> Draft:
    names: list[Piece] = []
    for check, wrong in sent:
        names += [", if(", *wrong.pieces, f", {sql_literal(check.name)}, null)"]
    model = sql_literal(f"{output.model.name}: test ")
    reason = ("cast(concat(", model, ", concat_ws(', '", *names, ")) as binary)")
    named: tuple[Piece, ...] = (f", named_struct('key', '{REASON}', 'value', ", *reason, ")")
    failed = any_of([[wrong] for _, wrong in sent], BOOLEAN)
    letters = _as_letters(select_records(rows, output, look, position_alias), output, named)
    return replace(letters, where=(*rows.where, failed))


def failed_rows(rows: Draft, output: Output, look: RecordColumns) -> Draft:
    """Return all rows of an output as dead letters, without the reason, which is not known yet."""
    return _as_letters(select_records(rows, output, look), output)


def _as_letters(rejected: Draft, output: Output, reason: tuple[Piece, ...] = ()) -> Draft:
    """Return the records of rows that are not stored as dead letters."""
    name = sql_literal(output.model.name)
    before = rejected.items["headers"]
    headers = (
        *("concat(coalesce(", *before.pieces, f", cast(array() as {HEADERS})), array("),
        *_time_header(rejected),
        *(f"named_struct('key', '{MODEL}', 'value', cast({name} as binary))", *reason, "))"),
    )
    items = {
        **rejected.items,
        "topic": Expression((sql_literal(dead_letter_topic(output)),), STRING, nullable=False, atomic=True),
        "headers": replace(before, pieces=join_pieces(headers), atomic=True),
    }
    # A dead letter has the time at which it is sent.
    items.pop("timestamp", None)
    return replace(rejected, items=items)


def _time_header(record_rows: Draft) -> tuple[Piece, ...]:
    """Return the header with the time that the record of a row would have had."""
    time = record_rows.items.get("timestamp")
    return () if time is None else time_header(time.pieces)


def _stop(
    wrong: Expression, check: RowCheck, rows: Draft, output: Output, position_alias: str | None
) -> Expression:
    model = output.model.name
    text_pieces: list[Piece] = [sql_literal(f"{WRONG_ROW}model {model}, test {check.name}")]
    if position_alias is not None:
        position = Ref(RECORD, position_alias)
        for name in ("topic", "partition", "offset"):
            text_pieces += [f", ', {name} ', ", position, f".{name}"]
    text_pieces += [", ': ', ", *_shown(check, rows, output)]
    pieces = ("if(", *wrong.pieces, ", cast(raise_error(concat(", *text_pieces, ")) as boolean), true)")
    return replace(wrong, pieces=join_pieces(pieces), raises=True, atomic=True)


def _shown(check: RowCheck, rows: Draft, output: Output) -> tuple[Piece, ...]:
    """Return a text of a row: its key, and the columns that a test reads, in one line."""
    names = [*output.keys, *(ref.column for ref in check.wrong.refs)]
    pieces: list[Piece] = ["concat(''"]
    for index, name in enumerate(dict.fromkeys(names)):
        if (value := rows.items.get(name)) is None:
            continue
        label = sql_literal(f"{', ' if index else ''}{name} = ")
        text: tuple[Piece, ...] = ("try_cast(", *value.pieces, " as string)")
        cut: tuple[Piece, ...] = ("left(translate(", *text, f", '\\n\\r', '  '), {_LONGEST_VALUE})")
        pieces += [f", {label}, coalesce(", *cut, ", 'NULL')"]
    return join_pieces((*pieces, ")"))
