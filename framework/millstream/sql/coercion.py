"""The common type of two in ANSI mode: `org.apache.spark.sql.catalyst.analysis.AnsiTypeCoercion`."""

from millstream.sql.casts import DIGITS
from millstream.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    Array,
    Decimal,
    Field,
    Map,
    Row,
    Type,
)

MOST_DIGITS = 38
TIMES = (DATE, TIMESTAMP_NTZ, TIMESTAMP)


def is_numeric(found: Type) -> bool:
    return isinstance(found, Decimal) or found in INTEGERS or found in {FLOAT, DOUBLE}


def as_decimal(found: Type) -> Decimal:
    """Return the decimal that can store every value of an integer type."""
    return found if isinstance(found, Decimal) else Decimal(DIGITS.get(found, MOST_DIGITS), 0)


def bounded(precision: int, scale: int) -> Decimal:
    """Fit a decimal into 38 digits by reducing its scale, to six at the least."""
    if precision <= MOST_DIGITS:
        return Decimal(precision, scale)
    whole = precision - scale
    return Decimal(MOST_DIGITS, max(MOST_DIGITS - whole, min(scale, 6)))


def common_type(left: Type, right: Type) -> Type | None:
    """Return the type that both sides are cast to in a UNION, CASE, COALESCE or comparison; None if none."""
    if right in (left, NULL):
        return left
    if left == NULL:
        return right
    if UNKNOWN in {left, right}:
        return UNKNOWN
    match left, right:
        case Decimal(), Decimal():
            scale = max(left.scale, right.scale)
            whole = max(left.precision - left.scale, right.precision - right.scale)
            return Decimal(min(MOST_DIGITS, whole + scale), min(scale, MOST_DIGITS - min(whole, MOST_DIGITS)))
        case (Array(), Array()) | (Map(), Map()) | (Row(), Row()):
            return _common_nested(left, right)
    if is_numeric(left) and is_numeric(right):
        return common_number(left, right)
    if STRING in {left, right}:
        return _common_with_string(right if left == STRING else left)
    if left in TIMES and right in TIMES:
        return max(left, right, key=TIMES.index)
    return None


def _common_nested(left: Type, right: Type) -> Type | None:
    match left, right:
        case Array(), Array():
            element = common_type(left.element, right.element)
            return Array(element) if element else None
        case Map(), Map():
            key, value = common_type(left.key, right.key), common_type(left.value, right.value)
            return Map(key, value) if key and value else None
        case Row(), Row() if len(left.fields) == len(right.fields):
            pairs = list(zip(left.fields, right.fields, strict=True))
            types = [common_type(a.type, b.type) for a, b in pairs]
            if any(found is None for found in types):
                return None
            # Spark casts fields of structs only if their names are the same.
            renamed = any(a.name.lower() != b.name.lower() for a, b in pairs)
            if renamed and any(a.type != b.type and UNKNOWN not in {a.type, b.type} for a, b in pairs):
                return None
            return Row(tuple(Field(f.name, t) for f, t in zip(left.fields, types, strict=True) if t))
        case _:
            return None


def common_number(left: Type, right: Type) -> Type:
    if left in INTEGERS and right in INTEGERS:
        return max(left, right, key=INTEGERS.index)
    if {left, right} & {FLOAT, DOUBLE}:
        # Other types may lose digits in a float, so ANSI mode uses double.
        return left if left == right else DOUBLE
    return common_type(as_decimal(left), as_decimal(right)) or DOUBLE


def _common_with_string(other: Type) -> Type | None:
    if other in INTEGERS:
        return BIGINT
    if is_numeric(other):
        return DOUBLE
    if other in TIMES or other == BOOLEAN:
        return other
    return None if isinstance(other, Array | Map | Row) or other == INTERVAL else other


def common(types: list[Type]) -> Type | None:
    """Return the common type of several; NULL for an empty list."""
    # Spark considers texts last: text, date and timestamp become a timestamp in any order.
    ordered = sorted(types, key=lambda found: found == STRING) if STRING in types else types
    found: Type | None = NULL
    for type_ in ordered:
        found = None if found is None else common_type(found, type_)
    return found
