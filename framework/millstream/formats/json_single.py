"""JSON values of any kind as a single column: `12`, `"a"`, `[1, 2]` or an object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.core.expressions import Piece, join_pieces, sql_literal
from millstream.core.types import INTERVAL, NULL, UNKNOWN, VARIANT, Array, Field, Map, Row, types_within
from millstream.formats.format import DecodedSql, Fields, Item, LocalCodec, SparkCodec
from millstream.formats.framing import framed_sql
from millstream.formats.json_maps import all_restored, as_read
from millstream.formats.json_values import read_single
from millstream.formats.registry import Encoding
from millstream.formats.sql import BAD, TIMES, VALUE, function_call, has_times, parser_call
from millstream.formats.values import from_json, single_value, to_json

_UNREAD = frozenset((INTERVAL, VARIANT, NULL, UNKNOWN))


def spark_codec(encoding: Encoding) -> SparkCodec:
    def decode(fields: Fields) -> DecodedSql:
        if not fields:
            return DecodedSql()
        (field,) = fields
        read = [Field(field.name, as_read(field.type), field.nullable)]
        restored = all_restored(fields, read)
        if encoding.decoding == "strict":
            return function_call("decode_json_value", read, restored, (encoding.framing,))
        # Spark's own parser only reads objects.
        text = (sql_literal('{"' + field.name + '":'), ", cast(", VALUE, " as string), ", sql_literal("}"))
        options = f"map('columnNameOfCorruptRecord', '{BAD}')"
        return DecodedSql(
            rows=parser_call("from_json", read, options, ("concat(", *text, ")")),
            fields=restored,
            why=(sql_literal(f"not JSON of {field.type}"),),
        )

    return SparkCodec(decode, lambda items: framed_sql(_encode_sql(items), encoding))


def _encode_sql(items: Sequence[Item]) -> tuple[Piece, ...]:
    ((_, expression),) = items
    options = f", map({TIMES})" if has_times(expression.type) else ""
    match expression.type:
        case Array() | Map() | Row():
            return join_pieces(("to_json(", *expression.pieces, f"{options})"))
        case _:
            # Spark's function doesn't write numbers and texts, but arrays of them.
            return join_pieces(("trim(both '[]' from to_json(array(", *expression.pieces, f"){options}))"))


def _encode(value: Any, fields: Fields) -> bytes:
    return to_json(single_value(value, fields))


def local_codec(encoding: Encoding) -> LocalCodec:
    def decode(value: bytes, fields: Fields) -> Any:
        for field in fields if encoding.decoding == "strict" else ():
            if _UNREAD.isdisjoint(types_within(field.type)):
                read_single(value, field.type, nullable=field.nullable)
        return from_json(value)

    return LocalCodec(decode, _encode)
