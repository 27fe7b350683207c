"""Encodes rows in Python as messages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from millstream.formats.format import Fields
from millstream.formats.json_values import read_json
from millstream.formats.protobuf.framing import add_frame
from millstream.formats.protobuf.mapping import (
    DURATION_MESSAGE,
    JSON,
    TIMESTAMP_MESSAGE,
    WRAPPERS,
    contains_itself,
    entry_fields,
    is_map,
    is_nullable,
    text_type,
)
from millstream.formats.protobuf.reading import EPOCH, LONGEST
from millstream.formats.protobuf.schema import ProtobufSchema, field_named, message_type
from millstream.formats.values import UnfitError, as_mapping, encode_utf8, row_values

if TYPE_CHECKING:
    from google.protobuf.descriptor import FieldDescriptor

_GREATEST_FLOAT = 3.4028235677973366e38
"""Half a step more than the greatest: from there on, a float is infinite."""
_SECOND = timedelta(seconds=1)
_MICRO = timedelta(microseconds=1)


def encode_protobuf(value: Any, fields: Fields, schema: ProtobufSchema) -> bytes:
    from google.protobuf.message_factory import GetMessageClass

    message = GetMessageClass(message_type(schema.descriptors, schema.message))()
    value = as_mapping(value)
    if fields and not isinstance(value, Mapping):
        value = dict(zip([field.name for field in fields], row_values(value, fields), strict=True))
    _fill(message, value)
    if not message.IsInitialized():
        raise UnfitError(f"required fields are missing: {', '.join(message.FindInitializationErrors())}")
    return add_frame(message.SerializeToString(deterministic=True), schema)


def _fill(message: Any, values: Any) -> None:
    values = as_mapping(values)
    if not isinstance(values, Mapping):
        raise UnfitError(f"expected a mapping of fields, not {type(values).__name__}")
    members: dict[str, str] = {}
    for name, value in values.items():
        field = field_named(message.DESCRIPTOR, str(name))
        oneof = field.containing_oneof
        if value is None:
            _check_null(field)
            continue
        if oneof is not None:
            other = members.setdefault(oneof.name, field.name)
            if other != field.name:
                raise UnfitError(
                    f"fields {other} and {field.name} both have values; {oneof.name} holds only one"
                )
        try:
            _set(message, field, value)
        except (TypeError, ValueError, OverflowError) as error:
            raise error if isinstance(error, UnfitError) else _unfit(field, value) from None


def _check_null(field: FieldDescriptor) -> None:
    """Refuse NULL where it would be read as another value."""
    if not is_nullable(field):
        raise UnfitError(f"field {field.name} can't hold NULL")


def _unfit(field: FieldDescriptor, value: Any) -> UnfitError:
    shown = repr(value)
    return UnfitError(f"field {field.name} can't hold {shown if len(shown) <= 60 else shown[:60] + '…'}")


def _set(message: Any, field: FieldDescriptor, value: Any) -> None:
    target = getattr(message, field.name)
    if is_map(field):
        key, value_field = entry_fields(field)
        for k, v in dict(value).items():
            if value_field.message_type is not None:
                _fill_message(target[_scalar(key, k)], value_field, v)
            else:
                target[_scalar(key, k)] = _scalar(value_field, v)
    elif field.is_repeated:
        if isinstance(value, str | bytes | Mapping):
            raise _unfit(field, value)
        for element in value:
            if field.message_type is not None:
                _fill_message(target.add(), field, element)
            else:
                target.append(_scalar(field, element))
    elif field.message_type is not None:
        target.SetInParent()
        _fill_message(target, field, value)
    else:
        setattr(message, field.name, _scalar(field, value))


def _fill_message(target: Any, field: FieldDescriptor, value: Any) -> None:
    name = target.DESCRIPTOR.full_name
    if value is None:
        raise _unfit(field, value)
    if name in WRAPPERS:
        target.value = _scalar(target.DESCRIPTOR.fields_by_name["value"], value)
    elif name in JSON:
        _fill_json(target, field, msgspec.json.decode(value) if isinstance(value, str) else value)
    elif name == TIMESTAMP_MESSAGE and not isinstance(value, Mapping):
        _fill_moment(target, _time(value) - EPOCH)
    elif name == DURATION_MESSAGE and not isinstance(value, Mapping):
        if not isinstance(value, timedelta) or abs(value) > timedelta(seconds=LONGEST):
            raise _unfit(field, value)
        _fill_moment(target, value)
    else:
        is_text = isinstance(value, str) and contains_itself(target.DESCRIPTOR)
        _fill(target, read_json(value, text_type(target.DESCRIPTOR)) if is_text else value)


def _time(value: Any) -> datetime:
    time = value if isinstance(value, datetime) else datetime.fromisoformat(value.replace("Z", "+00:00"))
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def _fill_moment(target: Any, duration: timedelta) -> None:
    seconds, rest = divmod(duration, _SECOND)
    if rest and seconds < 0 and target.DESCRIPTOR.full_name == DURATION_MESSAGE:
        seconds, rest = seconds + 1, rest - _SECOND
    target.seconds, target.nanos = seconds, rest // _MICRO * 1000


def _fill_json(target: Any, field: FieldDescriptor, value: Any) -> None:
    match target.DESCRIPTOR.name, value:
        case "Struct", Mapping():
            target.SetInParent()
            for name, inner in value.items():
                _fill_json(target.fields[str(name)], field, inner)
        case "ListValue", list() | tuple():
            target.SetInParent()
            for inner in value:
                _fill_json(target.values.add(), field, inner)
        case "Value", None:
            target.null_value = 0
        case "Value", bool():
            target.bool_value = value
        case "Value", str():
            target.string_value = value
        case "Value", int() | float() | Decimal() if Decimal(repr(float(value))) == Decimal(str(value)):
            target.number_value = float(value)
        case "Value", Mapping():
            _fill_json(target.struct_value, field, value)
        case "Value", list() | tuple():
            _fill_json(target.list_value, field, value)
        case _:
            raise _unfit(field, value)


def _scalar(field: FieldDescriptor, value: Any) -> Any:
    """Return a value for the runtime, which itself refuses whole numbers that are out of range."""
    match field.type, value:
        case 1, int() | float() | Decimal() if not isinstance(value, bool):
            return float(value)
        case 2, int() | float() | Decimal() if not isinstance(value, bool):
            number = float(value)
            if math.isfinite(number) and abs(number) > _GREATEST_FLOAT:
                raise _unfit(field, value)
            return number
        case 8, bool():
            return value
        case 9, str():
            encode_utf8(value)  # refuses half characters
            return value
        case 9, Decimal():
            return format(value, "f")
        case 9, date():  # or datetime
            return value.isoformat()
        case 12, bytes() | bytearray() | memoryview():
            return bytes(value)
        case 14, str() if value in field.enum_type.values_by_name:
            return field.enum_type.values_by_name[value].number
        case 14, int() if value in field.enum_type.values_by_number:
            return value
        case ((1 | 2 | 8 | 9 | 12 | 14), _):
            raise _unfit(field, value)
        case _, int() | float() | Decimal() if not isinstance(value, bool) and value == int(value):
            return int(value)
        case _:
            raise _unfit(field, value)
