"""A project's own format: Python functions that decode bytes to rows, and encode rows to bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.expressions import Piece, join_pieces, sql_literal
from millstream.formats.format import (
    DecodedSql,
    DecodingCall,
    Fields,
    Format,
    FormatOption,
    Item,
    LocalCodec,
    SparkCodec,
)
from millstream.formats.python.codecs import CodecFunctions, codecs_of
from millstream.formats.python.local import decode_locally, encode_locally
from millstream.formats.registry import Encoding
from millstream.formats.sql import VALUE, fields_to_ddl

OPTIONS = {
    "encode": FormatOption(
        "", "of a source: the function that writes its values", r"[A-Za-z_]\w*", "encode_order"
    ),
    "decode": FormatOption(
        "", "of a sink: the function that reads its values", r"[A-Za-z_]\w*", "decode_order"
    ),
}


def _decode(codecs: CodecFunctions, single: bool, fields: Fields) -> DecodedSql:
    if codecs.decode is None and codecs.encode is not None and fields:
        remedy = "name it in format_options of the sink: decode: <function>"
        raise MillstreamError(Diagnostic("MS129", "no function decodes the topic", None, remedy))
    if codecs.decode is None or not (fields or codecs.optional):
        return DecodedSql()
    # Only the columns that are read are checked and sent to Spark.
    digest = blake2b(fields_to_ddl(fields).encode(), digest_size=4).hexdigest()
    name = f"{codecs.decode.name}_{digest}"
    if single:
        fields = [replace(field, name="") for field in fields]

    def called(position: Sequence[Piece] = ()) -> tuple[Piece, ...]:
        more = [piece for argument in position for piece in (", ", argument)]
        return join_pieces((f"{name}(", VALUE, *more, ")"))

    call = DecodingCall(name, codecs.decode.name, tuple(fields), single, codecs.optional)
    return DecodedSql(rows=called(), required=called, by_function=call)


def _encode(codecs: CodecFunctions, single: bool, items: Sequence[Item]) -> tuple[Piece, ...]:
    assert codecs.encode is not None
    if single:
        ((_, only),) = items
        return join_pieces((f"{codecs.encode.name}(", *only.pieces, ")"))
    pieces: list[Piece] = []
    by_name = {name.lower(): expression for name, expression in items}
    for name in codecs.takes:
        pieces += [", " if pieces else "", sql_literal(name), ", ", *by_name[name.lower()].pieces]
    return join_pieces((f"{codecs.encode.name}(named_struct(", *pieces, "))"))


def format_of(encoding: Encoding) -> Format:
    codecs = codecs_of(encoding.schema)
    single = encoding.single

    def decode_value(value: bytes, fields: Fields) -> Any:
        return decode_locally(codecs, value, fields, single=single)

    def encode_value(value: Any, fields: Fields) -> bytes | None:
        return encode_locally(codecs, value, fields, single=single)

    return Format(
        media_type="application/octet-stream",
        spark=SparkCodec(partial(_decode, codecs, single), partial(_encode, codecs, single)),
        local=LocalCodec(decode_value, encode_value),
        single=single,
        columns=(),
        options=OPTIONS,
        encoder=codecs.encode.name if codecs.encode else "",
        decoder=codecs.decode.name if codecs.decode else "",
    )
