"""Which type Spark makes of two (ANSI mode): `org.apache.spark.sql.catalyst.analysis.AnsiTypeCoercion`."""

from functools import reduce

from millstream.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    INTERVAL,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    Array,
    Decimal,
    Field,
    Map,
    Row,
    Type,
)

MOST_DIGITS = 38
_DIGITS = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}
_TIMES = (DATE, TIMESTAMP_NTZ, TIMESTAMP)


def is_numeric(found: Type) -> bool:
    return isinstance(found, Decimal) or found in INTEGERS or found in {FLOAT, DOUBLE}


def as_decimal(found: Type, literal: object = None) -> Decimal:
    """Return the decimal that holds every value of an integer type, or one literal exactly."""
    if isinstance(found, Decimal):
        return found
    if isinstance(literal, int) and not isinstance(literal, bool):
        return Decimal(len(str(abs(literal))), 0)
    return Decimal(_DIGITS.get(found, MOST_DIGITS), 0)  # type: ignore[call-overload]


def bounded(precision: int, scale: int) -> Decimal:
    """Fit a decimal into 38 digits, giving up digits after the point down to six."""
    if precision <= MOST_DIGITS:
        return Decimal(precision, scale)
    whole = precision - scale
    return Decimal(MOST_DIGITS, max(MOST_DIGITS - whole, min(scale, 6)))


def common_type(left: Type, right: Type) -> Type | None:
    """Return the type that both sides become in a UNION, CASE, COALESCE or comparison; None when none."""
    if left == right or right == NULL:
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
        case Array(), Array():
            element = common_type(left.element, right.element)
            return Array(element) if element else None
        case Map(), Map():
            key, value = common_type(left.key, right.key), common_type(left.value, right.value)
            return Map(key, value) if key and value else None
        case Row(), Row() if len(left.fields) == len(right.fields):
            types = [common_type(a.type, b.type) for a, b in zip(left.fields, right.fields, strict=True)]
            if any(found is None for found in types):
                return None
            return Row(tuple(Field(f.name, t) for f, t in zip(left.fields, types, strict=True) if t))
    if is_numeric(left) and is_numeric(right):
        return _common_number(left, right)
    if STRING in {left, right}:
        return _common_with_string(right if left == STRING else left)
    if left in _TIMES and right in _TIMES:
        return max(left, right, key=_TIMES.index)  # type: ignore[arg-type]
    return None


def _common_number(left: Type, right: Type) -> Type:
    if left in INTEGERS and right in INTEGERS:
        return max(left, right, key=INTEGERS.index)  # type: ignore[arg-type]
    if DOUBLE in {left, right}:
        return DOUBLE
    if FLOAT in {left, right}:
        # Ints lose digits in a float, so ANSI mode goes to double; tiny and small ones fit.
        return FLOAT if {left, right} <= {FLOAT, TINYINT, SMALLINT} else DOUBLE
    return common_type(as_decimal(left), as_decimal(right)) or DOUBLE


def _common_with_string(other: Type) -> Type | None:
    if other in INTEGERS:
        return BIGINT
    if is_numeric(other):
        return DOUBLE
    if other in _TIMES or other in {BOOLEAN, INTERVAL}:
        return other
    return None if isinstance(other, Array | Map | Row) else other


def common(types: list[Type]) -> Type | None:
    """Return the common type of many, NULL of none."""
    return reduce(lambda left, right: left and common_type(left, right), types, NULL)  # type: ignore[arg-type, return-value]


def arithmetic(operator: str, left: Type, right: Type, literals: tuple[object, object]) -> Type | None:
    """Return the type of `+ - * / % div`, None when the types can't be calculated with."""
    if UNKNOWN in {left, right}:
        return UNKNOWN
    if (found := _with_times(operator, left, right)) is not None:
        return found
    left, right = _from_text(left, right), _from_text(right, left)
    if not (is_numeric(left) and is_numeric(right)):
        return NULL if NULL in {left, right} and (is_numeric(left) or is_numeric(right) or left == right) else None
    if operator == "div":
        return BIGINT
    if (isinstance(left, Decimal) or isinstance(right, Decimal)) and not {left, right} & {FLOAT, DOUBLE}:
        return _decimal_arithmetic(operator, as_decimal(left, literals[0]), as_decimal(right, literals[1]))
    if operator == "/":
        return DOUBLE
    return _common_number(left, right)


def _from_text(found: Type, other: Type) -> Type:
    if found == NULL:
        return other if is_numeric(other) else found
    if found != STRING:
        return found
    return BIGINT if other in INTEGERS else DOUBLE


def _with_times(operator: str, left: Type, right: Type) -> Type | None:
    times = {DATE, TIMESTAMP, TIMESTAMP_NTZ}
    match operator, left, right:
        case "-", _, _ if left in times and right in times:
            return INTERVAL
        case "+" | "-", _, _ if left == DATE and (right in INTEGERS):
            return DATE
        case "+" | "-", _, _ if left in times and right == INTERVAL:
            return left
        case "+", _, _ if left == INTERVAL and right in times:
            return right
        case "+" | "-", _, _ if left == right == INTERVAL:
            return INTERVAL
        case "*" | "/", _, _ if left == INTERVAL and is_numeric(right):
            return INTERVAL
        case "*", _, _ if right == INTERVAL and is_numeric(left):
            return INTERVAL
    return None


def _decimal_arithmetic(operator: str, left: Decimal, right: Decimal) -> Decimal:
    (p1, s1), (p2, s2) = (left.precision, left.scale), (right.precision, right.scale)
    match operator:
        case "+" | "-":
            scale = max(s1, s2)
            return bounded(max(p1 - s1, p2 - s2) + scale + 1, scale)
        case "*":
            return bounded(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(6, s1 + p2 + 1)
            return bounded(p1 - s1 + s2 + scale, scale)
        case _:
            scale = max(s1, s2)
            return bounded(min(p1 - s1, p2 - s2) + scale, scale)
