"""Python functions as formats: what they decode and encode, or why they can't."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from millstream.core.errors import UnlocatedDiagnostic, did_you_mean
from millstream.core.types import BINARY, UNKNOWN, Field, Row, Type, types_within
from millstream.formats.format import ReadSchema
from millstream.formats.python.codecs import CodecFunctions, CodeRef, schema_of
from millstream.formats.registry import Encoding, function_of
from millstream.project.values import Function

CODE = "MS129"
_DECODER = "def decode_order(value: bytes) -> Order:"
_ENCODER = "def encode_order(row: Order) -> bytes:"


class UnusableFunction(UnlocatedDiagnostic, frozen=True):
    """Why a function can't be a format."""

    other: bool = False
    """It is the function for the other direction, which the options name."""
    reported: bool = False
    """The function's file has errors, which are reported there."""


def source_format(
    encoding: Encoding, functions: Mapping[str, Function], *, key: bool
) -> ReadSchema | UnusableFunction:
    """Return the columns of a source whose values, or keys, a function decodes."""
    options = dict(encoding.options)
    if "decode" in options:
        return UnusableFunction(
            CODE, "'decode' is for sinks: the format is the function that decodes", "remove it", True
        )
    decode = _decoder(function_of(encoding.name), functions, key=key)
    if isinstance(decode, UnusableFunction):
        return decode
    encode = _encoder(options["encode"], functions, decode.returns) if "encode" in options else None
    if isinstance(encode, UnusableFunction):
        return replace(encode, other=True)
    columns, single = _columns(decode.returns, decode.fields)
    return ReadSchema(columns, _essence(decode, encode), single=single)


def sink_format(
    encoding: Encoding, key: Type | None, functions: Mapping[str, Function]
) -> ReadSchema | UnusableFunction:
    """Return what encoding needs of the functions of a sink, and the columns that they take.

    `key` is the type of a key; None for values, whose columns the caller compares.
    """
    options = dict(encoding.options)
    if "encode" in options:
        return UnusableFunction(
            CODE, "'encode' is for sources: the format is the function that encodes", "remove it", True
        )
    encode = _encoder(function_of(encoding.name), functions, key)
    if isinstance(encode, UnusableFunction):
        return encode
    decode = None
    if "decode" in options:
        decode = _decoder(options["decode"], functions, key=key is not None)
    if isinstance(decode, UnusableFunction):
        return replace(decode, other=True)
    row = encode.parameters[0]
    if decode is not None and decode.returns != row.type:
        message = f"{decode.name}() returns {decode.returns}, but {encode.name}() takes {row.type}"
        return UnusableFunction(CODE, message, "let both have the same class", True)
    columns, single = _columns(row.type, row.fields)
    return ReadSchema(columns, _essence(decode, encode), single=single)


def _columns(type_: Type, fields: tuple[Field, ...]) -> tuple[tuple[Field, ...], bool]:
    """Return the columns of a value, and whether it is a single one."""
    match type_:
        case Row(fields=of_type):
            return fields or of_type, False
        case _:
            return (Field("key", type_),), True


def _essence(decode: Function | None, encode: Function | None) -> str:
    optional = decode is not None and decode.nullable
    takes: tuple[str, ...] = ()
    if encode is not None and isinstance(row := encode.parameters[0].type, Row):
        takes = tuple(field.name for field in row.fields)
    return schema_of(CodecFunctions(_ref(decode), _ref(encode), takes, optional))


def _ref(function: Function | None) -> CodeRef | None:
    return CodeRef(function.name, function.digest) if function is not None else None


def _decoder(name: str, functions: Mapping[str, Function], *, key: bool) -> Function | UnusableFunction:
    function = _function(name, functions, _DECODER)
    if isinstance(function, UnusableFunction):
        return function
    takes = [parameter for parameter in function.parameters if parameter.required] or function.parameters[:1]
    if len(takes) != 1 or takes[0].type != BINARY:
        return UnusableFunction(CODE, f"{name}() does not take the bytes of a record", f"write `{_DECODER}`")
    if not (key or isinstance(function.returns, Row)):
        message = f"{name}() returns {function.returns}, not the columns of a row"
        return UnusableFunction(CODE, message, "return a dataclass, a TypedDict or a NamedTuple")
    return function


def _encoder(name: str, functions: Mapping[str, Function], row: Type | None) -> Function | UnusableFunction:
    function = _function(name, functions, _ENCODER)
    if isinstance(function, UnusableFunction):
        return function
    takes = [parameter for parameter in function.parameters if parameter.required] or function.parameters[:1]
    if len(takes) != 1:
        return UnusableFunction(CODE, f"{name}() does not take one row", f"write `{_ENCODER}`")
    if row is None and not isinstance(takes[0].type, Row):
        message = f"{name}() takes {takes[0].type}, not the columns of a row"
        return UnusableFunction(CODE, message, "take a dataclass, a TypedDict or a NamedTuple")
    if row is not None and takes[0].type != row:
        return UnusableFunction(CODE, f"{name}() takes {takes[0].type}, not {row}", "change its parameter")
    if function.returns != BINARY:
        return UnusableFunction(
            CODE, f"{name}() returns {function.returns}, not bytes", f"write `{_ENCODER}`"
        )
    return function


def _function(name: str, functions: Mapping[str, Function], example: str) -> Function | UnusableFunction:
    function = functions.get(name)
    if function is None:
        hint = did_you_mean(name, functions, f"write `{example}` into a file such as macros/codecs.py")
        return UnusableFunction(CODE, f"the function '{name}' does not exist", hint)
    if function.table:
        remedy = "return the row" if not function.keyed else "use a function without state"
        return UnusableFunction(CODE, f"{name}() yields rows, but a record has one", remedy)
    types = [function.returns, *(parameter.type for parameter in function.parameters)]
    if any(UNKNOWN in types_within(type_) for type_ in types):
        return UnusableFunction(CODE, "", "", reported=True)
    return function
