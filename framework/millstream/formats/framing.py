"""What precedes a value in a record: with Confluent's framing, a zero byte and the id of its schema."""

from __future__ import annotations

from typing import Any

from millstream.core.expressions import Piece, join_pieces, sql_literal
from millstream.formats.format import Fields, LocalCodec
from millstream.formats.registry import Encoding
from millstream.formats.values import UnfitError

_HEADER = 5


def framed_sql(value: tuple[Piece, ...], encoding: Encoding) -> tuple[Piece, ...]:
    """Return SQL of whole records."""
    if encoding.framing == "plain":
        return value
    header = f"schema_id_header({sql_literal(encoding.subject)})"
    return join_pieces((f"concat({header}, cast(", *value, " as binary))"))


def framed_codec(codec: LocalCodec, encoding: Encoding) -> LocalCodec:
    """Return a codec of whole records."""
    if encoding.framing == "plain":
        return codec
    header = b"\0" + encoding.schema_id.to_bytes(4, "big")

    def decode(record: bytes, fields: Fields) -> Any:
        if len(record) < _HEADER or record[0]:
            raise UnfitError("the value does not start with a zero byte and the id of a schema")
        return codec.decode(record[_HEADER:], fields)

    def encode(value: Any, fields: Fields) -> bytes | None:
        content = codec.encode(value, fields)
        return None if content is None else header + content

    return LocalCodec(decode, encode)
