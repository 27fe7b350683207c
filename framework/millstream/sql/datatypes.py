"""Converts sqlglot's data types to Millstream's."""

from sqlglot import exp

from millstream.core.types import INTERVAL, Array, Decimal, Field, Map, Row, Type, TypeSyntaxError, parse_type

_DTYPE = exp.DataType.Type


def data_type(node: exp.Expr) -> Type | None:
    """Return the type that a CAST names; None if Spark does not have it."""
    if isinstance(node, exp.Interval) or (
        isinstance(node, exp.DataType) and isinstance(node.this, exp.Interval)
    ):
        return INTERVAL
    if not isinstance(node, exp.DataType):
        return None
    inner = node.expressions
    sizes = [part.name for part in inner if isinstance(part, exp.DataTypeParam) and _is_number(part.this)]
    if len(sizes) < sum(isinstance(part, exp.DataTypeParam) for part in inner):
        return None
    match node.this:
        case _DTYPE.ARRAY | _DTYPE.LIST:
            element = data_type(inner[0]) if inner else None
            return Array(element) if element else None
        case _DTYPE.MAP:
            key, value = (data_type(inner[0]), data_type(inner[1])) if len(inner) == 2 else (None, None)
            return Map(key, value) if key and value else None
        case _DTYPE.STRUCT:
            fields = [(field.name, data_type(field.args.get("kind") or field)) for field in inner]
            typed = [Field(name, type_) for name, type_ in fields if type_]
            return Row(tuple(typed)) if len(typed) == len(fields) else None
        case _DTYPE.DECIMAL:
            return _decimal([int(size) for size in sizes])
    name = _NAMES.get(node.this) or str(node.this.value if hasattr(node.this, "value") else node.this).lower()
    try:
        return parse_type(name)
    except TypeSyntaxError:
        return None


_MOST_DIGITS = 38


def _decimal(sizes: list[int]) -> Decimal | None:
    decimal = Decimal(*sizes) if len(sizes) <= 2 else None
    return decimal if decimal and decimal.scale <= decimal.precision <= _MOST_DIGITS else None


def _is_number(node: exp.Expr) -> bool:
    # A number of thousands of digits is no size, and Python does not read it.
    return (
        isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and len(node.name) < 10
    )


_NAMES = {
    _DTYPE.TEXT: "string",
    _DTYPE.VARCHAR: "string",
    _DTYPE.CHAR: "string",
    _DTYPE.TIMESTAMPTZ: "timestamp",
    _DTYPE.TIMESTAMPLTZ: "timestamp",
    _DTYPE.TIMESTAMP: "timestamp",
    _DTYPE.TIMESTAMPNTZ: "timestamp_ntz",
    _DTYPE.VARBINARY: "binary",
    _DTYPE.BINARY: "binary",
}
