"""Changes and keys of Debezium in Python, checked as strictly as Spark's functions check them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal as Number
from typing import Any, NamedTuple

from millstream.core.types import (
    BIGINT,
    BINARY,
    DATE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    Decimal,
    Field,
    Row,
    Type,
)
from millstream.formats.changes import AFTER, CREATED, DELETED, READ, UPDATED
from millstream.formats.format import Fields
from millstream.formats.json_values import (
    JsonObject,
    WrittenNumber,
    parse_json,
    read_fields,
    read_part,
)
from millstream.formats.reasons import add_context, not_a, with_article
from millstream.formats.text_values import read_base64, to_decimal, to_integer
from millstream.formats.values import UnfitError

_UNAVAILABLE = "__debezium_unavailable_value"
_COUNTS = {
    "io.debezium.time.Timestamp": "millis",
    "org.apache.kafka.connect.data.Timestamp": "millis",
    "io.debezium.time.MicroTimestamp": "micros",
    "io.debezium.time.NanoTimestamp": "nanos",
}
_NO_SCHEMA = ": without a schema, format_options has to say"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class _Encoding(NamedTuple):
    """How the values of a column are written."""

    times: str = ""
    decimals: str = "string"
    scale: int | None = 0
    """None: that of the declared type."""
    items: _Encoding | None = None


def payload_of(value: Any) -> Any:
    """Return what a record has besides its schema."""
    if isinstance(value, Mapping) and [*value] == ["schema", "payload"]:
        schema = value["schema"]
        return value["payload"] if schema is None or isinstance(schema, Mapping) else value
    return value


def check_key(value: bytes, type_: Type, timestamps: str, decimals: str) -> None:
    schema, columns = _parts(value)
    encodings = _encodings(schema and dict(schema).get("fields"))
    if isinstance(type_, Row):
        _check_row(columns, type_.fields, encodings, _Encoding(timestamps or "unknown", decimals, None))
        return
    if not columns:
        raise UnfitError("the key has no columns")
    fields = [Field(columns[0][0], type_)]
    if len(columns) > 1:
        raise not_a(columns[1][0], "a field of the schema")
    _check_row(columns, fields, encodings, _Encoding(timestamps or "unknown", decimals, None))


def check_change(value: bytes, fields: Fields, timestamps: str, decimals: str) -> None:
    """Raise UnfitError for what is not a change of a row with these columns."""
    schema, change = _parts(value)
    parts = dict(change)
    if len([name for name, _ in change if name in {"op", AFTER}]) > len({"op", AFTER} & parts.keys()):
        raise UnfitError("the object has it twice")
    op, after = parts.get("op"), parts.get(AFTER)
    if after is not None and not isinstance(after, JsonObject):
        raise add_context(AFTER, UnfitError("it is not an object"))
    match op:
        case None:
            raise UnfitError("the record is not a change of Debezium: it has no 'op'")
        case str() if op in {CREATED, UPDATED, READ}:
            if after is None:
                raise UnfitError(f"the operation '{op}' has no row: 'after' is missing")
        case str() if op == DELETED:
            if after is not None:
                raise UnfitError("the operation 'd' deletes a row, but there is an 'after'")
            return
        case "t":
            raise UnfitError("the table was truncated: the record names no row that it deletes")
        case "m":
            raise UnfitError("it is a message in the database's log, not the change of a row")
        case _:
            raise add_context("op", not_a(str(op), "an operation of Debezium: c, u, r or d"))
    rows = {dict(part).get("field"): dict(part).get("fields") for part in _list(schema)}
    row_encodings = None if schema is None else _encodings(rows.get(AFTER) or [])
    _check_row(after, fields, row_encodings, _Encoding(timestamps or "unknown", decimals, None))


def _list(schema: JsonObject | None) -> Any:
    return (dict(schema).get("fields") or []) if schema is not None else []


def _parts(value: bytes) -> tuple[JsonObject | None, JsonObject]:
    """Return the schema of a record, if it has one, and the rest."""
    record = parse_json(value, what="object")
    if not isinstance(record, JsonObject):
        raise UnfitError("the value is not a JSON object")
    if not record or record[0][0] != "schema" or not isinstance(record[0][1], JsonObject | None):
        return None, record
    if len(record) < 2 or record[1][0] != "payload":
        raise UnfitError("there is a schema, but no 'payload' after it")
    if len(record) > 2:
        raise UnfitError("there is more after the payload")
    if not isinstance(record[1][1], JsonObject):
        raise add_context("payload", UnfitError("it is not an object"))
    return record[0][1], record[1][1]


def _encodings(columns: Any) -> dict[str, _Encoding] | None:
    if columns is None:
        return None
    return {str(column["field"]): _encoding(column) for column in map(dict, columns)}


def _encoding(column: Mapping[str, Any]) -> _Encoding:
    scale = dict(column.get("parameters") or []).get("scale", "0")
    items = column.get("items")
    return _Encoding(
        _COUNTS.get(str(column.get("name")), ""),
        "precise" if column.get("type") == "bytes" else "string",
        int(scale),
        None if items is None else _encoding(dict(items)),
    )


def _check_row(
    columns: JsonObject, fields: Fields, encodings: Mapping[str, _Encoding] | None, declared: _Encoding
) -> None:
    types = {field.name: field.type for field in fields}
    plain = JsonObject()
    for name, part in columns:
        if name not in types or part is None:
            plain.append((name, part))
            continue
        encoding = declared if encodings is None else encodings.get(name, _Encoding())
        try:
            plain.append((name, _plain(part, types[name], encoding)))
        except UnfitError as error:
            raise add_context(name, error) from None
    row = read_fields(plain, [(field.name, field.type) for field in fields])
    for field in fields:
        if not field.nullable and row[field.name] is None:
            raise add_context(field.name, UnfitError("the value is missing"))


def _plain(part: Any, type_: Type, encoding: _Encoding) -> Any:
    """Return a value as other records in JSON have it."""
    is_number = isinstance(part, WrittenNumber)
    match type_:
        case Array(element=element) if isinstance(part, list) and not isinstance(part, JsonObject):
            of_items = encoding if encoding.scale is None else encoding.items or _Encoding()
            return [None if inner is None else _plain(inner, element, of_items) for inner in part]
        case _ if type_ == DATE and is_number:
            return _day(part)
        case _ if type_ in {TIMESTAMP, TIMESTAMP_NTZ} and is_number:
            return _time(part, type_, encoding.times)
        case Decimal() if isinstance(part, JsonObject):
            scaled = read_part(part, Row((Field("scale", INT), Field("value", BINARY))))
            if scaled["scale"] is None or scaled["value"] is None:
                raise UnfitError("the value is missing")
            return _digits(scaled["value"], scaled["scale"], type_)
        case Decimal() if isinstance(part, str) and not is_number and encoding.decimals != "string":
            if not encoding.decimals:
                raise not_a(
                    part, f"{with_article(type_)}{_NO_SCHEMA} what texts are, such as decimals: precise"
                )
            scale = type_.scale if encoding.scale is None else encoding.scale
            return _digits(read_base64(part), scale, type_)
        case _ if type_ == STRING and part == _UNAVAILABLE and not is_number:
            raise UnfitError("the database's log lacks the value, which did not change")
        case _ if type_ == BINARY and isinstance(part, str) and read_base64(part) == _UNAVAILABLE.encode():
            raise UnfitError("the database's log lacks the value, which did not change")
        case _:
            return part


def _day(text: str) -> str:
    try:
        return (date(1970, 1, 1) + timedelta(days=to_integer(Number(text), text, INT))).isoformat()
    except OverflowError:
        raise not_a(text, with_article(DATE)) from None


def _time(text: str, type_: Type, counts: str) -> str:
    number = to_integer(Number(text), text, BIGINT)
    if counts == "unknown":
        expected = f"{with_article(type_)}{_NO_SCHEMA} what numbers count, such as timestamps: micros"
        raise not_a(text, expected)
    if not counts:
        raise not_a(text, with_article(type_))
    micros = {"millis": number * 1000, "micros": number, "nanos": number // 1000}[counts]
    try:
        time = (_EPOCH + timedelta(microseconds=micros)).isoformat()
    except OverflowError:
        raise not_a(text, with_article(type_)) from None
    return time if type_ == TIMESTAMP else time.removesuffix("+00:00")


def _digits(digits: bytes, scale: int, type_: Decimal) -> WrittenNumber:
    if not digits:
        raise UnfitError(f"no bytes are not {with_article(type_)}")
    number = Number(int.from_bytes(digits, "big", signed=True)).scaleb(-scale)
    text = format(number, "f")
    to_decimal(text, type_)
    return WrittenNumber(text)
