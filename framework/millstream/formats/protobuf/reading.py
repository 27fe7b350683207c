"""Decodes messages in Python, to the values that Spark's rows hold."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal as Number
from decimal import InvalidOperation
from typing import TYPE_CHECKING, Any

from millstream.core.types import (
    DATE,
    INTEGERS,
    STRING,
    TIMESTAMP_NTZ,
    VARIANT,
    Array,
    Decimal,
    Map,
    Row,
    Type,
)
from millstream.formats.format import Fields
from millstream.formats.json_values import write_any, write_json
from millstream.formats.protobuf.framing import remove_frame
from millstream.formats.protobuf.mapping import (
    DURATION_MESSAGE,
    JSON,
    TIMESTAMP_MESSAGE,
    WRAPPERS,
    columns_of,
    entry_fields,
    is_map,
    text_type,
)
from millstream.formats.protobuf.schema import ProtobufSchema, field_named, message_type
from millstream.formats.protobuf.wire import check_wire
from millstream.formats.values import UnfitError

if TYPE_CHECKING:
    from google.protobuf.descriptor import FieldDescriptor

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
LONGEST = 315_576_000_000
"""The longest duration in seconds: 10,000 years."""
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
_ENUM, _TEXT = 14, 9


def decode_protobuf(value: bytes, fields: Fields, schema: ProtobufSchema) -> dict[str, Any]:
    """Return the values of some fields, or of all columns of the message if none are given."""
    from google.protobuf.message import DecodeError
    from google.protobuf.message_factory import GetMessageClass

    descriptor = message_type(schema.descriptors, schema.message)
    content = remove_frame(value, schema)
    check_wire(content, descriptor)
    message = GetMessageClass(descriptor)()
    try:
        message.ParseFromString(content)
    except DecodeError as error:
        raise UnfitError(f"not a message {schema.message}: {error}") from None
    if not message.IsInitialized():
        raise UnfitError(f"required fields are missing: {', '.join(message.FindInitializationErrors())}")
    return _row(message, fields or columns_of(schema.descriptors, schema.message))


def _row(message: Any, fields: Fields) -> dict[str, Any]:
    return {
        field.name: _field(message, field_named(message.DESCRIPTOR, field.name), field.type)
        for field in fields
    }


def _field(message: Any, field: FieldDescriptor, type_: Type) -> Any:
    content = getattr(message, field.name)
    match type_:
        case Map(key=key_type, value=value_type) if is_map(field):
            key, value = entry_fields(field)
            return {_single(k, key, key_type): _single(content[k], value, value_type) for k in content}
        case Array(element=element) if field.is_repeated:
            return [_single(inner, field, element) for inner in content]
        case _ if field.is_repeated:
            raise UnfitError(f"field {field.name} is not {type_}")
        case _ if field.has_presence and not message.HasField(field.name) and not field.has_default_value:
            return None
        case _:
            return _single(content, field, type_)


def _single(value: Any, field: FieldDescriptor, type_: Type) -> Any:
    message = field.message_type.full_name if field.message_type else ""
    if isinstance(type_, Row) and message:
        return _row(value, type_.fields)
    if message in WRAPPERS:
        return _single(value.value, value.DESCRIPTOR.fields_by_name["value"], type_)
    if message in JSON:
        return write_any(_json(value, field))
    if message and message not in {TIMESTAMP_MESSAGE, DURATION_MESSAGE} and type_ in {STRING, VARIANT}:
        text = text_type(field.message_type)
        return write_json(_row(value, text.fields), text)
    if message in {TIMESTAMP_MESSAGE, DURATION_MESSAGE}:
        return _moment(value, field)
    if message:
        raise UnfitError(f"field {field.name}: {message} is not {type_}")
    return _scalar(value, field, type_)


def _scalar(value: Any, field: FieldDescriptor, type_: Type) -> Any:
    try:
        match type_:
            case Decimal(precision=precision, scale=scale):
                number = Number(value)
                if not _has_digits(number, precision, scale):
                    raise UnfitError(f"field {field.name}: {value!r} is not a valid {type_}")
                return number
            case _ if type_ == STRING and field.type == _ENUM:
                return field.enum_type.values_by_number[value].name
            case _ if type_ == DATE and field.type == _TEXT:
                return date.fromisoformat(value)
            case _ if type_ == TIMESTAMP_NTZ and field.type == _TEXT:
                return datetime.fromisoformat(value)
            case _ if type_ in INTEGERS and not -(2**63) <= value < 2**63:
                raise UnfitError(f"field {field.name}: {value} is not a valid {type_}")
            case _:
                return value
    except (ValueError, InvalidOperation):
        raise UnfitError(f"field {field.name}: {value!r} is not a valid {type_}") from None


def _has_digits(number: Number, precision: int, scale: int) -> bool:
    """Whether a decimal type holds a number without a loss."""
    if not number.is_finite():
        return False
    _, digits, exponent = number.normalize().as_tuple()
    assert isinstance(exponent, int)
    return exponent >= -scale and len(digits) + exponent <= precision - scale


def _moment(message: Any, field: FieldDescriptor) -> datetime | timedelta:
    seconds, nanos = message.seconds, message.nanos
    micros = nanos // 1000 if nanos >= 0 else -(-nanos // 1000)
    is_duration = message.DESCRIPTOR.full_name == DURATION_MESSAGE
    if is_duration:
        same_sign = not seconds or not nanos or (seconds < 0) == (nanos < 0)
        valid = abs(seconds) <= LONGEST and abs(nanos) < 10**9 and same_sign
    else:
        valid = _FIRST <= seconds <= _LAST and 0 <= nanos < 10**9
    if not valid:
        raise UnfitError(f"field {field.name}: {seconds} s and {nanos} ns are not a valid time")
    moved = timedelta(seconds=seconds, microseconds=micros)
    return moved if is_duration else EPOCH + moved


def _json(message: Any, field: FieldDescriptor) -> Any:
    match message.DESCRIPTOR.name:
        case "Struct":
            return {name: _json(message.fields[name], field) for name in message.fields}
        case "ListValue":
            return [_json(inner, field) for inner in message.values]
    kind = message.WhichOneof("kind")
    match kind:
        case None:
            raise UnfitError(f"field {field.name}: a google.protobuf.Value without a value")
        case "null_value":
            return None
        case "number_value" if not math.isfinite(message.number_value):
            raise UnfitError(f"field {field.name}: {message.number_value} is not a number of JSON")
        case "number_value":
            return message.number_value
        case "struct_value" | "list_value":
            return _json(getattr(message, kind), field)
        case _:
            return getattr(message, kind)
