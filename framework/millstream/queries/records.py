"""A model's row as a Kafka record: topic, key, value, headers."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, all_of, replace_columns, sql_literal
from millstream.core.types import BINARY, BOOLEAN, STRING, TIMESTAMP, Array, Field, Row, Type
from millstream.formats.changes import encode_row
from millstream.formats.keys import written_key
from millstream.formats.registry import format_of
from millstream.outputs.kinds import OWN_HEADERS, Sink
from millstream.plan.nodes import RECORD_HEADERS, RECORD_TIME, Output
from millstream.plan.optimizer.cost import is_free
from millstream.queries.emit.draft import (
    ENCODED_KEY,
    ENCODED_VALUE,
    PLACED,
    RECORD,
    Draft,
    compose_expression,
)

HEADERS = Array(Row((Field("key", STRING), Field("value", BINARY))))


def needs_columns(draft: Draft, output: Output) -> bool:
    """Whether a record would calculate something twice, unless the calculations become columns first."""
    if draft.freely:
        return False
    used = {*output.keys, *(name for item in output.extras for name in item.expression.columns)}
    return any(not is_free(draft.items[name]) for name in used if name in draft.items) or (
        draft.deleted is not None
        and any(not expression.deterministic or expression.functions for expression in draft.items.values())
    )


class RecordColumns(Struct, frozen=True):
    """Which optional columns the records of a query have."""

    headers: bool
    timestamp: bool


def select_records(
    draft: Draft, output: Output, look: RecordColumns, position_alias: str | None = None
) -> Draft:
    """Return the SELECT of a model's records.

    `position_alias` is the alias of rows that have their record's position, by which repeated records are
    recognised.
    """
    items = {
        "topic": _text(sql_literal(output.topic), STRING),
        "key": _key(draft, output),
        "value": _value(draft, output),
    }
    if look.headers:
        items["headers"] = _headers(draft, output, position_alias)
    if look.timestamp:
        items["timestamp"] = _timestamp(draft)
    return replace(draft, items=items, deleted=None)


def sink_of(output: Output) -> Sink:
    """Return how the records of a model are written; other models than sinks have dead letters only."""
    return output.materialization.sink or Sink(topic=output.topic)


def _text(text: str, type_: Type) -> Expression:
    return Expression((text,), type_, nullable=False, atomic=True)


def _value(draft: Draft, output: Output) -> Expression:
    if ENCODED_VALUE in draft.items:
        return _unless_deleted(draft, draft.items[ENCODED_VALUE])
    sink = sink_of(output)
    names = [name for name in output.names if name != ENCODED_KEY]
    items = [(name, draft.items[name]) for name in sink.value_columns(names)]
    encoded = encode_row(items) if sink.changes else format_of(sink.encoding).spark.encode(items)
    pieces: tuple[Piece, ...] = ("cast(", *encoded, " as binary)")
    return _unless_deleted(draft, compose_expression([expression for _, expression in items], pieces, BINARY))


def _unless_deleted(draft: Draft, value: Expression) -> Expression:
    """Let a row that only marks a delete have no value."""
    if draft.deleted is None:
        return value
    pieces = ("if(", *draft.deleted.pieces, ", null, ", *value.pieces, ")")
    return compose_expression([value, draft.deleted], pieces, BINARY)


def _key(draft: Draft, output: Output) -> Expression:
    keys = [(name, draft.items[name]) for name in output.keys]
    if not keys:
        return _text("cast(null as binary)", BINARY)
    if ENCODED_KEY in draft.items:
        return draft.items[ENCODED_KEY]
    ((_, first), *others) = keys
    parts = [expression for _, expression in keys]
    encoding = sink_of(output).key_encoding
    key_format = written_key(encoding, [Field(name, expression.type) for name, expression in keys])
    if encoding is None and not others and first.type == BINARY:
        return first
    if encoding is None and not others and first.type == STRING:
        return compose_expression(parts, ("cast(", *first.pieces, " as binary)"), BINARY)
    encoded: tuple[Piece, ...] = ("cast(", *key_format.encoded(keys), " as binary)")
    if encoding is not None and not others:  # a record without a key
        encoded = ("if(", *first.pieces, " is null, null, ", *encoded, ")")
    return compose_expression(parts, encoded, BINARY)


def _headers(draft: Draft, output: Output, position_alias: str | None) -> Expression:
    pieces: list[Piece] = []
    parts: list[Expression] = []
    for item in output.extras:
        if not item.name.startswith("headers."):
            continue
        header = replace_columns(item.expression, lambda ref: draft.items.get(ref.column))
        parts.append(header)
        name = sql_literal(item.name.removeprefix("headers."))
        pieces += [", " if pieces else "", f"named_struct('key', {name}, 'value', "]
        pieces += ["cast(cast(", *header.pieces, " as string) as binary))"]
    arrays: list[Sequence[Piece]] = []
    if (source := draft.items.get(RECORD_HEADERS)) is not None:
        parts.append(source)
        arrays.append(foreign_headers(source.pieces))
    if position_alias is not None:
        arrays.append((Ref(RECORD, position_alias), f".{PLACED}"))
    if pieces:
        arrays.append(("array(", *pieces, ")"))
    if not arrays:
        return _text(f"cast(null as {HEADERS})", HEADERS)
    return compose_expression(parts, _concatenated(arrays), HEADERS)


def _concatenated(arrays: Sequence[Sequence[Piece]]) -> list[Piece]:
    if len(arrays) == 1:
        return list(arrays[0])
    pieces = [piece for array in arrays for piece in (", ", *array)]
    return ["concat(", *pieces[1:], ")"]


def foreign_headers(record_headers: Sequence[Piece]) -> list[Piece]:
    """Return the headers of a record without those of Millstream, which would say another origin."""
    foreign = f"header -> not startswith(header.key, '{OWN_HEADERS}')"
    return ["filter(coalesce(", *record_headers, f", cast(array() as {HEADERS})), {foreign})"]


def _timestamp(draft: Draft) -> Expression:
    return draft.items.get(RECORD_TIME) or _text("cast(null as timestamp)", TIMESTAMP)


def fan_out(drafts: list[Draft]) -> Expression:
    """Return an array with the record of each model; NULL for a model whose filters drop the row."""
    pieces: list[Piece] = ["array(\n  "]
    parts: list[Expression] = []
    for index, draft in enumerate(drafts):
        parts += [*draft.items.values(), *draft.where]
        fields: list[Piece] = []
        for name, expression in draft.items.items():
            fields += [", " if fields else "", f"'{name}', ", *expression.pieces]
        struct: list[Piece] = ["named_struct(", *fields, ")"]
        if draft.where:
            struct = ["if(", *all_of(draft.where, BOOLEAN).pieces, ", ", *struct, ", null)"]
        pieces += [",\n  " if index else "", *struct]
    pieces.append("\n)")
    return compose_expression(parts, pieces, HEADERS)
