"""Calls the functions of a format without Spark: for `produce`, `consume`, `seed` and unit tests."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from datetime import date, datetime, timezone
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import Any

from millstream.core.user_code import (
    SourceFile,
    arrow_converter,
    describe_failure,
    module_of,
    struct_of,
    to_arrow,
)
from millstream.formats.format import Fields
from millstream.formats.python.calling import decoding_function, row_of
from millstream.formats.python.checks import (
    ExpectedType,
    MisfitError,
    field_value,
    fit_value,
    fitting_field,
    show_value,
)
from millstream.formats.python.codecs import FILES, CodecFunctions, CodeRef
from millstream.formats.python.expected_types import expected_fields, expected_type
from millstream.formats.text_values import read_base64
from millstream.formats.values import UnfitError, as_mapping, row_values


@cache
def _source(ref: CodeRef) -> SourceFile:
    file, path = FILES[ref.digest]
    return SourceFile(path, file.read_text(encoding="utf-8-sig"), ref.digest)


def decode_locally(codecs: CodecFunctions, value: bytes, fields: Fields, *, single: bool) -> Any:
    """Return the values of some columns, or a single value; raise `UnfitError` if it is a bad record."""
    if codecs.decode is None:
        raise UnfitError("no function decodes it: name one in format_options, such as decode: decode_order")
    row_decoder = decoding_function(
        _source(codecs.decode), codecs.decode.name, optional=codecs.optional, single=single
    )
    try:
        returned = row_of(row_decoder, value, interruptible=True)
        if single:
            fit_value(returned, expected_type(fields[0].type))
            return to_arrow(returned)
        if returned is None:
            return None
        for field in expected_fields(fields):
            fitting_field(field_value(returned, field.name), field)
    except MisfitError as error:
        raise UnfitError(str(error)) from None
    return {field.name: to_arrow(field_value(returned, field.name)) for field in fields}


def encode_locally(codecs: CodecFunctions, value: Any, fields: Fields, *, single: bool) -> bytes | None:
    """Return a row, or a single value, as bytes; None if the function may write no value, and does not."""
    if codecs.encode is None:
        raise UnfitError("no function encodes it: name one in format_options, such as encode: encode_order")
    name = codecs.encode.name
    function = getattr(module_of(_source(codecs.encode)), name)
    hints = typing.get_type_hints(function, include_extras=True)
    hint = next(hint for parameter, hint in hints.items() if parameter != "return")
    try:
        if single:
            fitted = fit_value(_adapted(value, expected_type(fields[0].type)), expected_type(fields[0].type))
            convert = arrow_converter(hint)
            argument = convert(fitted) if convert else fitted
        else:
            argument = _argument(value, fields, hint)
    except MisfitError as error:
        raise UnfitError(str(error)) from None
    try:
        returned = function(argument)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the user's function raises, also SystemExit
        raise UnfitError(describe_failure(name, error)) from None
    if returned is None and type(None) in typing.get_args(hints["return"]):
        return None
    if not isinstance(returned, bytes | bytearray | memoryview):
        raise UnfitError(f"{name}(): returned {show_value(returned)}, not bytes")
    return bytes(returned)


def _argument(value: Any, fields: Fields, hint: Any) -> Any:
    """Return a row as an instance of the function's class."""
    value = as_mapping(value)
    names = [field.name for field in fields]
    by_name = dict(zip(names, row_values(value, fields), strict=True))
    missing = {
        n for n in names if isinstance(value, Mapping) and n.lower() not in {str(k).lower() for k in value}
    }
    struct = struct_of(hint)
    values = {}
    for field in expected_fields(fields):
        if field.name in missing and _has_default(struct, field.name):
            continue
        try:
            values[field.name] = fit_value(_adapted(by_name[field.name], field.type), field.type)
        except MisfitError as error:
            raise error.within(field.name) from None
    convert = arrow_converter(hint)
    assert convert is not None
    try:
        return convert(values)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the user's class raises, also SystemExit
        raise MisfitError(describe_failure(struct.__name__, error)) from None


def _has_default(struct: Any, name: str) -> bool:
    if not dataclasses.is_dataclass(struct):
        return name in getattr(struct, "_field_defaults", {})
    empty = dataclasses.MISSING
    of_name = (field for field in dataclasses.fields(struct) if field.name == name)
    return any(field.default is not empty or field.default_factory is not empty for field in of_name)


def _adapted(value: Any, type_: ExpectedType) -> Any:
    """Return a value as YAML, JSON or CSV write it in the type of its column, if that is possible."""
    try:
        match type_.kind, value:
            case "decimal", str() | float():
                return Decimal(str(value))
            case "floating", str():
                return float(value)
            case "timestamp" | "timestamp_ntz", str():
                time = datetime.fromisoformat(value.replace("Z", "+00:00"))
                if type_.kind == "timestamp_ntz":
                    return time
                return time if time.tzinfo else time.replace(tzinfo=timezone.utc)
            case "timestamp", datetime(tzinfo=None):
                return value.replace(tzinfo=timezone.utc)
            case "date", str():
                return date.fromisoformat(value)
            case "binary", str():
                return read_base64(value)
            case "array", list() | tuple():
                return [_adapted(element, type_.inner[0]) for element in value]
            case "map", Mapping():
                key, held = type_.inner
                return {_adapted(k, key): _adapted(v, held) for k, v in value.items()}
            case "struct", Mapping():
                types = dict(type_.inner)
                return {n: _adapted(v, types[n]) if n in types else v for n, v in value.items()}
    except (ValueError, InvalidOperation):
        return value
    return value
