"""The SQL that makes dead letters: records that can't be decoded, sent unchanged with the reason in headers.

The words of a reason are made by the decoders in Java (`BadValue`).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, join_pieces, sql_literal
from millstream.core.node_id import NO_NODE, NodeId
from millstream.core.types import BINARY, BOOLEAN, STRING, TIMESTAMP
from millstream.formats.sql import BAD
from millstream.queries.emit.draft import RECORD, Draft
from millstream.queries.records import HEADERS, foreign_headers

TOPIC, PARTITION, OFFSET = "millstream.topic", "millstream.partition", "millstream.offset"
TIMESTAMP_HEADER, REASON = "millstream.timestamp", "millstream.reason"
SOURCE, MODEL = "millstream.source", "millstream.model"
"""Headers of a dead letter: its original record, why it failed, and the source that could not decode it or
the model in which it failed."""
FILE, LINE = "millstream.file", "millstream.line"
"""Headers of a dead letter that is a line of a file, instead of those of a record."""
COLUMNS = "millstream.columns"
"""The header with the names of a record's bad columns, the last but one; `*` is the whole value."""
CUT = "millstream.cut"
"""The header with the size of a record of which Kafka did not accept the whole (`SizeLimit.java`)."""
FAILED = "a function failed: "
"""The prefix of the error's text, by which it is recognised within Spark's message."""


def dead_letter(trunk: Draft, source: NodeId, topic: str) -> Draft:
    """Return the dead letter of a record that can't be decoded, for a topic of dead letters."""
    bad = Ref(BAD, trunk.sources[0].alias)
    reason = ("cast(", bad, ".reason as binary)")
    columns = ("cast(", bad, ".columns as binary)")
    return _dead_letter(trunk, bad, topic, reason, (bad, " is not null"), source, columns=columns)


def failed_call(trunk: Draft, topic: str, model: str, error: Expression) -> Draft:
    """Return the dead letter of a record on which a model's function failed."""
    record = Ref(RECORD, trunk.sources[0].alias)
    prefix = sql_literal(f"{model}: ")
    reason = (f"cast(concat({prefix}, ", *error.pieces, ") as binary)")
    return _dead_letter(trunk, record, topic, reason, (*error.pieces, " is not null"), model=model)


def _dead_letter(
    trunk: Draft,
    record: Ref,
    topic: str,
    reason: tuple[Piece, ...],
    where: tuple[Piece, ...],
    source: NodeId = NO_NODE,
    model: str = "",
    columns: tuple[Piece, ...] = (),
) -> Draft:
    """Return key and value unchanged, with headers for the original record and the reason.

    Several sources of one topic each send their own dead letter of a record; `source` distinguishes them.
    Headers of the record that have names of Millstream's are left out: they would say another origin.
    """
    pieces: list[Piece] = ["concat(", *foreign_headers((record, ".headers")), ", array("]
    for header, name in ((TOPIC, "topic"), (PARTITION, "partition"), (OFFSET, "offset")):
        pieces += [f"named_struct('key', '{header}', 'value', cast(cast(", record]
        pieces.append(f".{name} as string) as binary)), ")
    pieces += time_header((record, ".timestamp"))
    for header, value in ((SOURCE, source), (MODEL, model)):
        if value:
            pieces.append(
                f"named_struct('key', '{header}', 'value', cast({sql_literal(str(value))} as binary)), "
            )
    if columns:
        pieces += [f"named_struct('key', '{COLUMNS}', 'value', ", *columns, "), "]
    pieces += [f"named_struct('key', '{REASON}', 'value', ", *reason, ")))"]
    items = {
        "topic": Expression((sql_literal(topic),), STRING, nullable=False, atomic=True),
        "key": Expression((record, ".key"), BINARY, atomic=True),
        "value": Expression((record, ".value"), BINARY, atomic=True),
        "headers": Expression(join_pieces(pieces), HEADERS, atomic=True),
    }
    return replace(trunk, items=items, where=(Expression(where, BOOLEAN),), deleted=None)


def time_header(time: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """Return the header with the time of a record, in the zone of the target and with its offset."""
    text = ("date_format(", *time, ", 'yyyy-MM-dd HH:mm:ss.SSSxxx')")
    return (f"named_struct('key', '{TIMESTAMP_HEADER}', 'value', cast(", *text, " as binary)), ")


def skipped_row(trunk: Draft, whose: str, conditions: Sequence[Expression]) -> Draft:
    """Return a marker for a row that a model skips or that fails a test; without a topic it is not sent."""
    items = {
        "topic": Expression(("cast(null as string)",), STRING, atomic=True),
        "key": Expression((f"cast({sql_literal(whose)} as binary)",), BINARY, atomic=True),
        "value": Expression(("cast(null as binary)",), BINARY, atomic=True),
        "headers": Expression((f"cast(null as {HEADERS})",), HEADERS, atomic=True),
    }
    return replace(trunk, items=items, where=tuple(conditions), deleted=None)


def fail_condition(trunk: Draft, model: str, error: Expression) -> Expression:
    """Return a condition that stops the query if a function failed; the error names the record."""
    record = Ref(RECORD, trunk.sources[0].alias)
    text = sql_literal(f"{FAILED}model {model}, topic ")
    message: tuple[Piece, ...] = (
        *("concat(", text, ", ", record, ".topic, ', partition ', ", record, ".partition, ', offset ', "),
        *(record, ".offset, ': ', ", *error.pieces, ")"),
    )
    condition = ("if(", *error.pieces, " is null, true, cast(raise_error(", *message, ") as boolean))")
    return Expression(join_pieces(condition), BOOLEAN, nullable=False, raises=True, atomic=True)


def add_null_timestamp(record: Draft) -> Draft:
    """Add the column `timestamp` as NULL, since other records of the query have it."""
    null = Expression(("cast(null as timestamp)",), TIMESTAMP, atomic=True)
    return replace(record, items={**record.items, "timestamp": record.items.get("timestamp", null)})


def decoded_only(draft: Draft) -> Draft:
    """Remove records that can't be decoded from a model's rows."""
    good = Expression((Ref(BAD, draft.sources[0].alias), " is null"), BOOLEAN, atomic=True)
    return replace(draft, where=(good, *draft.where))
