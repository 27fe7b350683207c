"""Changes of rows as Debezium's connectors write them: in JSON, with or without their schemas, or in Avro."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from millstream.core.expressions import Expression, Piece, Ref, join_pieces
from millstream.core.types import BIGINT, STRING, TIMESTAMP, Decimal, Field, Row, Type
from millstream.formats import debezium_avro
from millstream.formats.changes import AFTER, CREATED, DELETED
from millstream.formats.debezium_schemas import LANGUAGE
from millstream.formats.debezium_values import check_change, check_key, payload_of
from millstream.formats.format import DecodedSql, Fields, Format, FormatOption, Item, LocalCodec, SparkCodec
from millstream.formats.json_maps import all_restored, as_read
from millstream.formats.registry import Encoding
from millstream.formats.sql import DELETES, VALUE, function_call
from millstream.formats.values import UnfitError, as_mapping, encode_utf8, from_json, to_json

_BEFORE, _OP = "before", "_op"
_SOURCE = Row(
    tuple(
        Field(name, type_)
        for type_, names in (
            (STRING, "version connector name snapshot db schema table sequence"),
            (BIGINT, "ts_ms ts_us ts_ns"),
            (BIGINT, "lsn xmin"),  # PostgreSQL, as the next
            (STRING, "txId"),
            (BIGINT, "server_id pos row thread"),  # MySQL and MariaDB, as the next
            (STRING, "gtid file query"),
            (STRING, "change_lsn commit_lsn"),  # SQL Server, as the next
            (BIGINT, "event_serial_no"),
            (STRING, "scn commit_scn"),  # Oracle
        )
        for name in names.split()
    )
)
_CHANGE = (
    Field(_OP, STRING, nullable=False),
    Field("_ts_ms", BIGINT),
    Field("_ts_us", BIGINT),
    Field("_ts_ns", BIGINT),
    Field("_source", _SOURCE),
    Field(
        "_transaction",
        Row((Field("id", STRING), Field("total_order", BIGINT), Field("data_collection_order", BIGINT))),
    ),
)
# A tombstone is no change: the next row of its key may have been committed before it was sent.
_CHANGED_AT = Expression(
    join_pieces(
        (
            *("if(", Ref(_OP), " is null, null, coalesce(timestamp_micros(", Ref("_source"), ".ts_us), "),
            *("timestamp_millis(nullif(", Ref("_source"), ".ts_ms, 0)), ", Ref("_timestamp"), "))"),
        )
    ),
    TIMESTAMP,
    atomic=True,
)
"""Connectors before version 2.5 have no microseconds; snapshots of some have no time."""
_OPTIONS = {
    "timestamps": FormatOption(
        "",
        "what a number in a timestamp counts since 1970, if records have no schema: millis, micros or nanos",
        "millis|micros|nanos",
        "micros",
    ),
    "decimals": FormatOption(
        "",
        "what a text in a decimal is, if records have no schema: precise, the bytes of its digits, or string",
        "precise|string",
        "precise",
    ),
}


def _settings(encoding: Encoding) -> tuple[str, str]:
    options = dict(encoding.options)
    return options.get("timestamps", ""), options.get("decimals", "")


def _decode(settings: tuple[str, str], fields: Fields) -> DecodedSql:
    read = [Field(field.name, as_read(field.type), field.nullable) for field in fields]
    decoded = function_call("decode_debezium", read, all_restored(fields, read), settings)
    return _without_tombstones(decoded, fields)


def _without_tombstones(decoded: DecodedSql, fields: Fields) -> DecodedSql:
    required = decoded.required
    if required is None or any(field.name == DELETES for field in fields):
        return decoded
    # The record before a tombstone has the deleted row. A NULL has no rows.
    return DecodedSql(
        rows=_if_any(decoded.rows),
        fields=decoded.fields,
        required=lambda position: _if_any(required(position)),
    )


def _if_any(rows: Sequence[Piece]) -> tuple[Piece, ...]:
    return join_pieces(("if(", VALUE, " is null, null, ", *rows, ")"))


def _decode_key(settings: tuple[str, str], fields: Fields) -> DecodedSql:
    return function_call("decode_debezium_key", fields, settings=settings) if fields else DecodedSql()


def _encode_sql(items: Sequence[Item]) -> tuple[Piece, ...]:
    raise AssertionError(f"a sink writes changes by `emit`: {items}")


def _encode(value: Any, fields: Fields) -> bytes:
    """Return the change of a row: with `_op`, or `c`. A whole change is written as it is."""
    if isinstance(value, str):
        return encode_utf8(value)
    row = as_mapping(value)
    if not isinstance(row, Mapping):
        raise UnfitError(f"expected a mapping of columns, not {type(row).__name__}")
    names = {field.name for field in fields}
    if "op" in row and "op" not in names and not row.keys().isdisjoint({AFTER, _BEFORE}):
        return to_json(row)
    of_change = {name: part for name, part in row.items() if name in _CHANGE_NAMES}
    types = {field.name: field.type for field in fields}
    columns = {name: _written(part, types.get(name)) for name, part in row.items() if name not in of_change}
    op = of_change.pop(_OP, None) or CREATED
    change = {
        _BEFORE: columns if op == DELETED else None,
        AFTER: None if op == DELETED else columns,
        "op": op,
    }
    return to_json(change | {name.removeprefix("_"): part for name, part in of_change.items()})


_CHANGE_NAMES = {field.name for field in _CHANGE}


def _written(value: Any, type_: Type | None) -> Any:
    """Return a decimal as a number: a text would be the bytes of its digits."""
    return from_json(encode_utf8(value)) if isinstance(type_, Decimal) and isinstance(value, str) else value


def _encode_key(key: Any, fields: Fields) -> bytes:
    ((_, value),) = key.items() if isinstance(key, Mapping) else ((fields[0].name, key),)
    return to_json(value if isinstance(value, Mapping) else {fields[0].name: value})


def _decode_locally(settings: tuple[str, str], value: bytes, fields: Fields) -> Any:
    check_change(value, fields, *settings)
    return payload_of(from_json(value))


def _decode_key_locally(settings: tuple[str, str], value: bytes, fields: Fields) -> Any:
    type_ = fields[0].type if fields else STRING
    check_key(value, type_, *settings)
    columns = payload_of(from_json(value))
    return columns if isinstance(type_, Row) else next(iter(columns.values()))


def format_of(encoding: Encoding) -> Format:
    settings = _settings(encoding)
    if encoding.schema and encoding.single:
        spark = SparkCodec(partial(debezium_avro.decode_key_sql, encoding), _encode_sql)
        local = debezium_avro.codec_of_keys(encoding)
    elif encoding.schema:
        spark = SparkCodec(
            lambda fields: _without_tombstones(debezium_avro.decode_sql(encoding, fields), fields),
            _encode_sql,
        )
        local = debezium_avro.codec_of_changes(encoding)
    elif encoding.single:
        spark = SparkCodec(partial(_decode_key, settings), _encode_sql)
        local = LocalCodec(partial(_decode_key_locally, settings), _encode_key)
    else:
        spark = SparkCodec(partial(_decode, settings), _encode_sql)
        local = LocalCodec(partial(_decode_locally, settings), _encode)
    return Format(
        media_type="application/vnd.apache.avro" if encoding.schema else "application/json",
        spark=spark,
        local=local,
        single=encoding.single,
        of_change=() if encoding.single else _CHANGE,
        changed_at=_CHANGED_AT,
        schemas=LANGUAGE,
        options=_OPTIONS,
    )
