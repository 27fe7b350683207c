"""Data tests of single rows, asked before a row is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.expressions import Expression, Piece, Ref, any_of, joined, literal, replace_columns
from millstream.physical.dead_letters import skipped_row, topic_of
from millstream.physical.emit.draft import RECORD, Draft
from millstream.physical.emit.text import Select
from millstream.physical.records import HEADERS, RecordColumns, record
from millstream.plan.nodes import Check, Output
from millstream.types import BOOLEAN, STRING

WRONG_ROW = "a data test failed: "
"""What the text of an error begins with, so that it is found in what Spark makes of it."""

Fate = Literal["skipped", "dead_letters", "tests"]
"""What becomes of rows that are counted."""


class Asked(Struct, frozen=True):
    """The rows of an output that are stored, and what becomes of the others."""

    rows: Draft
    letters: tuple[Draft, ...]
    """Records of those that are sent to dead letters: as they would have been sent, and why they were not."""
    wrong: tuple[tuple[Check, Expression], ...]
    """For each test: which rows are wrong."""


def asked(rows: Draft, output: Output, look: RecordColumns, place: str | None = None) -> Asked:
    """Ask the tests of an output of its rows."""
    wrong = tuple((check, _wrong(check, rows)) for check in output.checks)
    kept = [_not(found) for check, found in wrong if check.keeps_out]
    sent = [(check, found) for check, found in wrong if check.severity == "dead_letter"]
    letters = (_letter(rows, output, look, place, sent),) if sent else ()
    return Asked(replace(rows, where=(*rows.where, *kept)), letters, wrong)


def telling(trunk: Draft, rows: Draft, found: Asked) -> list[Draft]:
    """Return what tells of each row that a test finds wrong; without topic, it isn't sent."""
    return [
        skipped_row(trunk, test_id(check), (*rows.where, wrong))
        for check, wrong in found.wrong
        if check.severity != "error"
    ]


def stopping(found: Asked, model: str, place: str | None) -> list[Expression]:
    """Return conditions that stop the query at a row which must not be."""
    return [_stop(wrong, check, model, place) for check, wrong in found.wrong if check.severity == "error"]


def counting(rows: Draft, model: str, found: Asked, views: Callable[[str], str]) -> str:
    """Return SQL that counts the rows that each test finds wrong, and those that are sent to dead letters."""
    named = [(count_name("tests", test_id(check)), wrong) for check, wrong in found.wrong]
    if sent := [[wrong] for check, wrong in found.wrong if check.severity == "dead_letter"]:
        named.append((count_name("dead_letters", model), any_of(sent, BOOLEAN)))
    # Each count is of one condition, so none is the name of a column.
    counts = {
        name: replace(e, pieces=joined(("count_if(", *e.pieces, ")")), atomic=True) for name, e in named
    }
    return Select(replace(rows, items=counts, deleted=None), views).text()


def count_name(fate: Fate, whose: str) -> str:
    """Return the name of the column that counts rows; after its first blank comes whose they are."""
    return f"{fate} {whose}"


def test_id(check: Check) -> str:
    return f"test.{check.name}"


def telling_tests(outputs: Iterable[Output]) -> tuple[str, ...]:
    """Return the ids of tests that tell of each row that they find wrong, and don't stop the query."""
    checks = (check for output in outputs for check in output.checks)
    return tuple(test_id(check) for check in checks if check.severity != "error")


def letters_topic(output: Output) -> str:
    """Return the topic for rows of a model that a test keeps out."""
    return topic_of(output.topic or output.model.partition(".")[2])


def sends_letters(outputs: Iterable[Output]) -> bool:
    return any(check.severity == "dead_letter" for output in outputs for check in output.checks)


def _wrong(check: Check, rows: Draft) -> Expression:
    """Say of which rows a test finds them wrong: never NULL, and none that is only there to be deleted."""
    found = replace_columns(check.wrong, lambda ref: rows.items.get(ref.column))
    pieces: tuple[Piece, ...] = ("coalesce(", *found.pieces, ", false)")
    if rows.deleted is not None:
        pieces = ("(not coalesce(", *rows.deleted.pieces, ", false) and ", *pieces, ")")
    return replace(found, pieces=joined(pieces), type=BOOLEAN, nullable=False, atomic=True)


def _not(wrong: Expression) -> Expression:
    return replace(wrong, pieces=joined(("not ", *wrong.pieces)), atomic=False)


def _letter(
    rows: Draft,
    output: Output,
    look: RecordColumns,
    place: str | None,
    sent: Sequence[tuple[Check, Expression]],
) -> Draft:
    made = record(rows, output, look, place)
    names: list[Piece] = []
    for check, wrong in sent:
        names += [", if(", *wrong.pieces, f", {literal(check.name)}, null)"]
    model = literal(f"{output.model.partition('.')[2]}: test ")
    reason = ("cast(concat(", model, ", concat_ws(', '", *names, ")) as binary)")
    before = made.items["headers"]
    headers = (
        *("concat(coalesce(", *before.pieces, f", cast(array() as {HEADERS})), "),
        *("array(named_struct('key', 'millstream.reason', 'value', ", *reason, ")))"),
    )
    items = {
        **made.items,
        "topic": Expression((literal(letters_topic(output)),), STRING, nullable=False, atomic=True),
        "headers": replace(before, pieces=joined(headers), atomic=True),
    }
    one = any_of([[wrong] for _, wrong in sent], BOOLEAN)
    return replace(made, items=items, where=(*rows.where, one))


def _stop(wrong: Expression, check: Check, model: str, place: str | None) -> Expression:
    said: list[Piece] = [literal(f"{WRONG_ROW}model {model}, test {check.name}")]
    if place is not None:
        at = Ref(RECORD, place)
        for name in ("topic", "partition", "offset"):
            said += [f", ', {name} ', ", at, f".{name}"]
    pieces = ("if(", *wrong.pieces, ", cast(raise_error(concat(", *said, ")) as boolean), true)")
    return replace(wrong, pieces=joined(pieces), raises=True, atomic=True)
