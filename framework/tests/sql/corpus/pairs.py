"""Every pair of types beside each other."""

from corpus.tables import COLUMNS

_NESTED = ("v", "a", "sa", "aa", "m", "st", "sts")
VALUES = (*COLUMNS, "null", "1", "2.5", "'7'", "100L", "i_n")
_PLAIN = tuple(value for value in VALUES if value not in _NESTED)

PAIRS = {
    **{operator: (_PLAIN, f"{{}} {operator} {{}}") for operator in ("+", "-", "*", "/", "%", "div", "&")},
    "||": (VALUES, "{} || {}"),
    "=": (VALUES, "{} = {}"),
    "coalesce": (VALUES, "coalesce({}, {})"),
    "if": (VALUES, "if(b, {}, {})"),
}

TYPES = (
    "boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "decimal(5,2)", "decimal(38,18)",
    "string", "binary", "date", "timestamp", "timestamp_ntz", "interval day to second", "interval year to month",
    "variant", "array<string>", "array<bigint>", "map<string,bigint>", "struct<a:bigint,b:string>", "varchar(10)",
    "array<struct<a:string,b:int>>",
)  # fmt: skip

INTERVALS = frozenset(
    f"{left} {operator} {right}"
    for operator in "+-"
    for left, right in (("dt", "iv"), ("dt", "ym"), ("iv", "dt"), ("ym", "dt"))
)
"""A date plus a column of intervals is a date or a timestamp: Millstream does not tell kinds of intervals apart."""
