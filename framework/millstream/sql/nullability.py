"""Whether a call of a Spark function can return NULL."""

from millstream.core.types import BINARY, INTERVAL, TIMESTAMP_NTZ, Array, Type
from millstream.sql.argument_types import cast_to
from millstream.sql.argument_values import part_of
from millstream.sql.casts import can_cast
from millstream.sql.signatures import FunctionSignature
from millstream.sql.value import Value, nullable_as


def call_nullable(signature: FunctionSignature, values: list[Value], type_: Type) -> bool:
    """Return whether a call can return NULL, by the rule in its signature."""
    match signature.nullable:
        case "never":
            return False
        case "always":
            return True
        case "coalesce":
            return all(nullable_as(value, type_) for value in values)
        case "branches":
            return any(nullable_as(value, type_) for value in values[1:])
        case "same":
            return any(nullable_as(value, type_) for value in values)
        case "elements":
            element = type_.element if isinstance(type_, Array) else type_
            return any(value.nullable or _casts_to_null(value, element) for value in values)
        case "first":
            return argument_nulls(signature, values)[0]
        case "default":
            return len(values) < 3 or any(nullable_as(value, type_) for value in values[::2])
        case "decoded":
            return len(values) < 4 or len(values) % 2 == 1 or _decoded(values, type_)
        case "cast":
            # With a format, Spark parses; without one, it casts, and a cast of text is nullable.
            if len(values) > 1:
                return any(argument_nulls(signature, values))
            return nullable_as(values[0], type_) or not can_cast(values[0].type, type_)
        case "second":
            return values[1].nullable
        case "within":
            binary = all(value.type == BINARY for value in values)
            return binary or any(argument_nulls(signature, values))
        case "pair":
            return any(argument_nulls(signature, values)[:2])
        case "part":
            return any(argument_nulls(signature, values)) or part_nullable(values[0].literal, values[1])
        case _:
            return any(argument_nulls(signature, values))


def argument_types(signature: FunctionSignature, values: list[Value]) -> list[Type]:
    """Return the types of arguments once Spark has cast them to what the function takes."""
    form = signature.takes(len(values)) or ()
    if len(form) != len(values):
        return [value.type for value in values]
    return [cast_to(parameter.word, value.type) for parameter, value in zip(form, values, strict=True)]


def argument_nulls(signature: FunctionSignature, values: list[Value]) -> list[bool]:
    """Return for each argument whether it can be NULL once Spark has cast it to what the function takes."""
    types = argument_types(signature, values)
    return [nullable_as(value, type_) for value, type_ in zip(values, types, strict=True)]


def part_nullable(part: object, time: Value) -> bool:
    """Return whether a part of a time can be NULL: Spark casts to a date, except for hours and below."""
    return time.type == TIMESTAMP_NTZ and part_of(str(part)) not in {"hour", "minute", "second"}


def _casts_to_null(value: Value, target: Type) -> bool:
    return value.type != INTERVAL and nullable_as(value, target)


def _decoded(values: list[Value], type_: Type) -> bool:
    return any(nullable_as(value, type_) for value in [*values[2::2], values[-1]])
