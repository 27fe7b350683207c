"""JSON objects; a text value is already JSON."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from millstream.core.expressions import Piece, join_pieces, sql_literal
from millstream.core.types import (
    INTERVAL,
    NULL,
    UNKNOWN,
    VARIANT,
    Field,
    Type,
    types_within,
)
from millstream.formats.format import (
    DecodedSql,
    Fields,
    Format,
    FormatOption,
    Item,
    LocalCodec,
    ReadSchema,
    SchemaFiles,
    SchemaImport,
    SchemaLanguage,
    SparkCodec,
)
from millstream.formats.framing import framed_codec, framed_sql
from millstream.formats.json_maps import all_restored, as_read
from millstream.formats.json_values import read_object
from millstream.formats.registry import Encoding, Framing
from millstream.formats.sql import BAD, column_list, function_call, parser_call, struct_sql
from millstream.formats.values import encode_utf8, from_json, to_json

_LOST = frozenset((INTERVAL, VARIANT, NULL, UNKNOWN))


def _decode_strict(framing: Framing, fields: Fields) -> DecodedSql:
    if not fields or not all(_round_trips(field.type) for field in fields):
        return _decode_lenient(fields)
    read = [Field(field.name, as_read(field.type), field.nullable) for field in fields]
    return function_call("decode_json", read, all_restored(fields, read), (framing,))


def _decode_lenient(fields: Fields) -> DecodedSql:
    if not fields:
        return DecodedSql()
    read = [Field(field.name, as_read(field.type), field.nullable) for field in fields]
    return DecodedSql(
        rows=parser_call("from_json", read, f"map('columnNameOfCorruptRecord', '{BAD}')"),
        fields=all_restored(fields, read),
        why=(sql_literal(f"not a JSON object with {column_list(fields)}"),),
    )


def _encode_sql(items: Sequence[Item]) -> tuple[Piece, ...]:
    """Write a row; NULL fields are omitted, which reads back as NULL."""
    return join_pieces(("encode_json(", *struct_sql(items), ")"))


def _encode(value: Any, fields: Fields) -> bytes:  # noqa: ARG001 - additional fields are harmless
    return encode_utf8(value) if isinstance(value, str) else to_json(value)


def _decode(strict: bool, value: bytes, fields: Fields) -> Any:
    if strict and fields and all(_round_trips(field.type) for field in fields):
        read_object(value, fields)
    return from_json(value)


def _round_trips(type_: Type) -> bool:
    return _LOST.isdisjoint(types_within(type_))


def _read_schema(files: SchemaFiles) -> ReadSchema:
    from millstream.formats.json_schema import column_of, columns_of, columns_within_themselves

    text = files.texts[files.path]
    if files.key:
        return ReadSchema((column_of(text, files.texts),), single=True)
    unwritable = columns_within_themselves(text, files.texts)
    return ReadSchema(tuple(columns_of(text, files.texts)), unwritable=unwritable)


def _derive(fields: Fields, name: str) -> ReadSchema:
    from millstream.formats.json_schema_of import schema_of

    return ReadSchema(tuple(fields), text=schema_of(fields, name))


def _derive_single(type_: Type, name: str) -> ReadSchema:
    from millstream.formats.json_schema_of import schema_of_single

    return ReadSchema((Field("value", type_),), text=schema_of_single(type_, name), single=True)


def _imports(files: SchemaFiles) -> Sequence[SchemaImport]:
    from millstream.formats.json_schema import names_of_others

    return [
        SchemaImport(name, name) for name in names_of_others(files.texts[files.path]) if name in files.texts
    ]


_JSON_SCHEMA = SchemaLanguage(
    "JSON Schema",
    ".json",
    _read_schema,
    _derive,
    _derive_single,
    required=False,
    imports=_imports,
)
_OPTIONS = {
    "single": FormatOption(
        "false", "true: a value is one column of any type, such as a list or a number", "true|false", "true"
    )
}


def format_of(encoding: Encoding) -> Format:
    declared = ("single", "true") in encoding.options
    single = encoding.single or declared
    if single:
        from millstream.formats.json_single import local_codec, spark_codec

        spark, local = spark_codec(encoding), local_codec(encoding)
    else:
        strict = partial(_decode_strict, encoding.framing)
        spark = SparkCodec(
            strict if encoding.decoding == "strict" else _decode_lenient,
            lambda items: framed_sql(_encode_sql(items), encoding),
        )
        local = LocalCodec(partial(_decode, encoding.decoding == "strict"), _encode)
    return Format(
        media_type="application/json",
        spark=spark,
        local=framed_codec(local, encoding),
        single=single,
        holds=_round_trips,
        round_trips=_round_trips,
        unwritten=frozenset((INTERVAL,)),
        omits_null=True,
        escape="\\",
        schemas=None if declared else _JSON_SCHEMA,
        options=_OPTIONS,
    )
