"""The common type of two in ANSI mode: `org.apache.spark.sql.catalyst.analysis.AnsiTypeCoercion`."""

from millstream.core.types import (
    BIGINT,
    BINARY,
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
    has_equality,
)
from millstream.sql.casts import DIGITS

MOST_DIGITS = 38
TIMES = (DATE, TIMESTAMP_NTZ, TIMESTAMP)


def is_numeric(type_: Type) -> bool:
    return isinstance(type_, Decimal) or type_ in INTEGERS or type_ in {FLOAT, DOUBLE}


def as_decimal(type_: Type) -> Decimal:
    """Return the decimal that can store every value of an integer type."""
    return type_ if isinstance(type_, Decimal) else Decimal(DIGITS.get(type_, MOST_DIGITS), 0)


def bounded_decimal(precision: int, scale: int) -> Decimal:
    """Fit a decimal into 38 digits by reducing its scale, to six at the least."""
    if precision <= MOST_DIGITS:
        return Decimal(precision, scale)
    digits = precision - scale
    return Decimal(MOST_DIGITS, max(MOST_DIGITS - digits, min(scale, 6)))


def common_type(left: Type, right: Type, *, texts: bool = True) -> Type | None:
    """Return the type that both sides are cast to in a UNION, CASE, COALESCE or comparison; None if none.

    Without `texts`, a text is only cast to a text, as in GREATEST and for the elements of arrays.
    """
    if right in (left, NULL):
        return left
    if left == NULL:
        return right
    if UNKNOWN in {left, right}:
        return UNKNOWN
    match left, right:
        case Decimal(), Decimal():
            scale = max(left.scale, right.scale)
            digits = max(left.precision - left.scale, right.precision - right.scale)
            return Decimal(
                min(MOST_DIGITS, digits + scale), min(scale, MOST_DIGITS - min(digits, MOST_DIGITS))
            )
        case (Array(), Array()) | (Map(), Map()) | (Row(), Row()):
            return _common_nested(left, right, texts=texts)
    if is_numeric(left) and is_numeric(right):
        return common_number(left, right)
    if STRING in {left, right} and texts:
        return _common_with_string(right if left == STRING else left)
    if left in TIMES and right in TIMES:
        return max(left, right, key=TIMES.index)
    return None


def _common_nested(left: Type, right: Type, *, texts: bool) -> Type | None:
    match left, right:
        case Array(), Array():
            element = common_type(left.element, right.element, texts=texts)
            return Array(element) if element else None
        case Map(), Map():
            key = common_type(left.key, right.key, texts=texts)
            value = common_type(left.value, right.value, texts=texts)
            return Map(key, value) if key and value else None
        case Row(), Row() if same_structure(left, right):
            return left
        case Row(), Row() if _same_names(left, right):
            # Spark casts fields of structs only if their names are the same.
            types = [
                common_type(a.type, b.type, texts=texts)
                for a, b in zip(left.fields, right.fields, strict=True)
            ]
            if any(type_ is None for type_ in types):
                return None
            return Row(tuple(Field(field.name, t) for field, t in zip(left.fields, types, strict=True) if t))
        case _:
            return None


def _same_names(left: Row, right: Row) -> bool:
    return [field.name.lower() for field in left.fields] == [field.name.lower() for field in right.fields]


def same_structure(left: Type, right: Type) -> bool:
    """Return whether two types are equal but for the names of fields: `DataType.equalsStructurally`."""
    match left, right:
        case Array(), Array():
            return same_structure(left.element, right.element)
        case Map(), Map():
            return same_structure(left.key, right.key) and same_structure(left.value, right.value)
        case Row(), Row():
            return len(left.fields) == len(right.fields) and all(
                same_structure(a.type, b.type) for a, b in zip(left.fields, right.fields, strict=True)
            )
        case _:
            return UNKNOWN in {left, right} or left == right


def tightest_type(left: Type, right: Type) -> Type | None:
    """Return the common type of two without casts of texts and of decimals: `findTightestCommonType`."""
    if same_structure(left, right) or right == NULL:
        return left
    match left, right:
        case Array(), Array():
            element = tightest_type(left.element, right.element)
            return Array(element) if element else None
        case Map(), Map():
            key, value = tightest_type(left.key, right.key), tightest_type(left.value, right.value)
            return Map(key, value) if key and value else None
        case Row(), Row() if _same_names(left, right):
            types = [tightest_type(a.type, b.type) for a, b in zip(left.fields, right.fields, strict=True)]
            fields = [
                Field(field.name, type_) for field, type_ in zip(left.fields, types, strict=True) if type_
            ]
            return Row(tuple(fields)) if len(fields) == len(types) else None
    wider = common_type(left, right, texts=False)
    if not isinstance(left, Decimal) and not isinstance(right, Decimal):
        return wider
    other = right if isinstance(left, Decimal) else left
    return wider if other in {NULL, UNKNOWN} or (other in INTEGERS and wider in (left, right)) else None


def comparable_type(left: Type, right: Type) -> Type | None:
    """Return the type that `left = right` compares; None if Spark can't compare them."""
    nested = isinstance(left, Array | Map | Row) and isinstance(right, Array | Map | Row)
    type_ = tightest_type(left, right) if nested else common_type(left, right)
    return type_ if type_ is not None and has_equality(type_) else None


def is_assignable(source: Type, target: Type) -> bool:
    """Return whether Spark casts an argument to exactly this type: `implicitCast` to a concrete type."""
    if tightest_type(target, source) is not None:
        return True
    if target == STRING:
        return not isinstance(source, Array | Map | Row)
    if is_numeric(target):
        return is_numeric(source) or source == STRING
    return (source == STRING and target in {*TIMES, BOOLEAN, BINARY}) or (source in TIMES and target in TIMES)


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


def common_type_of(types: list[Type], *, texts: bool = True) -> Type | None:
    """Return the common type of several; NULL for an empty list."""
    # Spark considers texts last: text, date and timestamp become a timestamp in any order.
    ordered = sorted(types, key=lambda type_: type_ == STRING) if STRING in types else types
    widest: Type | None = NULL
    for type_ in ordered:
        widest = None if widest is None else common_type(widest, type_, texts=texts)
    return widest
