"""A project's own format: Python functions that decode bytes to rows, and encode rows to bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.expressions import Piece, joined, literal
from millstream.formats.format import (
    Decoded,
    DecodingCall,
    Fields,
    Format,
    Item,
    LocalCodec,
    Option,
    SparkCodec,
)
from millstream.formats.python.codecs import Codecs, codecs_of
from millstream.formats.python.local import decode, encode
from millstream.formats.registry import Encoding
from millstream.formats.sql import VALUE, ddl

OPTIONS = {
    "encode": Option("", "of a source: the function that writes its values", r"[A-Za-z_]\w*", "encode_order"),
    "decode": Option("", "of a sink: the function that reads its values", r"[A-Za-z_]\w*", "decode_order"),
}


def _decode(codecs: Codecs, single: bool, fields: Fields) -> Decoded:
    if codecs.decode is None and codecs.encode is not None and fields:
        remedy = "name it in format_options of the sink: decode: <function>"
        raise MillstreamError(Diagnostic("MS129", "no function decodes the topic", None, remedy))
    if codecs.decode is None or not (fields or codecs.optional):
        return Decoded()
    # Only the columns that are read are checked and sent to Spark.
    digest = blake2b(ddl(fields).encode(), digest_size=4).hexdigest()
    name = f"{codecs.decode.name}_{digest}"
    if single:
        fields = [replace(field, name="") for field in fields]

    def called(position: Sequence[Piece] = ()) -> tuple[Piece, ...]:
        more = [piece for argument in position for piece in (", ", argument)]
        return joined((f"{name}(", VALUE, *more, ")"))

    call = DecodingCall(name, codecs.decode.name, tuple(fields), single, codecs.optional)
    return Decoded(rows=called(), required=called, by_function=call)


def _encode(codecs: Codecs, single: bool, items: Sequence[Item]) -> tuple[Piece, ...]:
    assert codecs.encode is not None
    if single:
        ((_, only),) = items
        return joined((f"{codecs.encode.name}(", *only.pieces, ")"))
    pieces: list[Piece] = []
    by_name = {name.lower(): expression for name, expression in items}
    for name in codecs.takes:
        pieces += [", " if pieces else "", literal(name), ", ", *by_name[name.lower()].pieces]
    return joined((f"{codecs.encode.name}(named_struct(", *pieces, "))"))


def format_of(encoding: Encoding) -> Format:
    codecs = codecs_of(encoding.schema)
    single = encoding.single

    def decode_value(value: bytes, fields: Fields) -> Any:
        return decode(codecs, value, fields, single=single)

    def encode_value(value: Any, fields: Fields) -> bytes | None:
        return encode(codecs, value, fields, single=single)

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
