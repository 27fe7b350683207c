"""Whether a call of a Spark function can return NULL."""

from millstream.sql.spark_functions import Signature
from millstream.sql.value import Value, nullable_as
from millstream.types import BINARY, INTEGERS, STRING, Type


def call_nullable(signature: Signature, values: list[Value], found: Type) -> bool:
    """Return whether a call can return NULL, by the rule in its signature."""
    match signature.nullable:
        case "never":
            return False
        case "always":
            return True
        case "coalesce":
            return all(nullable_as(value, found) for value in values)
        case "branches":
            return any(nullable_as(value, found) for value in values[1:])
        case "same":
            return any(nullable_as(value, found) for value in values)
        case "first":
            return values[0].nullable
        case "default":
            return len(values) < 3 or any(nullable_as(value, found) for value in values[::2])
        case "decoded":
            return len(values) < 4 or len(values) % 2 == 1 or _decoded(values, found)
        case "cast":
            # With a format, Spark parses; without one, it casts, and a cast of text is nullable.
            return any(v.nullable for v in values) or (len(values) == 1 and nullable_as(values[0], found))
        case "untexted":
            # Text is cast to what the function takes, and the cast is nullable.
            return any(value.nullable or value.type == STRING for value in values)
        case "timed":
            # The same for texts that are not literals; formats and zones remain text.
            return any(value.nullable or (value.type == STRING and value.literal is None) for value in values)
        case "narrowed":
            return any(value.nullable or value.type not in INTEGERS for value in values)
        case "second":
            return values[1].nullable
        case "within":
            return any(value.nullable or value.type == BINARY for value in values)
        case _:
            return any(value.nullable for value in values)


def _decoded(values: list[Value], found: Type) -> bool:
    return any(nullable_as(value, found) for value in [*values[2::2], values[-1]])
