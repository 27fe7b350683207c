"""Checks the values of arguments that are literals, such as units, formats and schemas."""

import re
from collections.abc import Callable

from millstream.core.errors import did_you_mean
from millstream.core.types import INTERVAL, STRING, Type, TypeSyntaxError, parse_type
from millstream.sql.signatures import SignatureParameter
from millstream.sql.value import Value

Wrong = tuple[str, str]
"""A message and a remedy."""

UNITS = ("year", "quarter", "month", "week", "day", "dayofyear", "hour", "minute", "second", "millisecond",
         "microsecond")  # fmt: skip
"""Units of `dateadd`, `datediff` and the like."""
_LEVELS = (
    "year",
    "quarter",
    "month",
    "week",
    "day",
    "hour",
    "minute",
    "second",
    "millisecond",
    "microsecond",
)
_LEVEL_ALIASES = {"yyyy": "year", "yy": "year", "mon": "month", "mm": "month", "dd": "day"}
_DAYS = frozenset(("year", "quarter", "month", "week"))
"""Units of `trunc`, which returns dates."""

_PARTS = {
    "year": "y years yr yrs", "yearofweek": "", "quarter": "qtr", "month": "mon mons months",
    "week": "w weeks",
    "day": "d days", "dayofweek": "dow", "dayofweek_iso": "dow_iso", "doy": "", "hour": "h hours hr hrs",
    "minute": "m min mins minutes", "second": "s sec seconds secs",
}  # fmt: skip
_OF_INTERVALS = ("year", "month", "day", "hour", "minute", "second")
_OF_KINDS = {"months": ("year", "month"), "days": ("day", "hour", "minute", "second"),
             "time": ("day", "hour", "minute", "second")}  # fmt: skip
_ENCODINGS = ("hex", "utf-8", "utf8", "base64")
_NUMBER_FORMAT = re.compile(r"(S|MI)?\$?(?=[.D,G]*[09])[09]*([,G][09]+)*([.D][09]*)?\$?(S|MI|PR)?")


def part_of(text: str) -> str:
    """Return the part of a time that a word names: `year` for `yrs`; '' if none."""
    folded = text.lower()
    return next((part for part, more in _PARTS.items() if folded in {part, *more.split()}), "")


def wrong_value(parameter: SignatureParameter, name: str, value: Value) -> Wrong | None:
    """Return what is wrong with a literal as an argument of a function."""
    literal = value.literal
    if literal is None or value.type == INTERVAL:
        return None
    if parameter.word in _NUMBERS and value.type == STRING and parameter.constant and not _is_number(literal):
        return f"'{literal}' is not a number", "write a number"
    check = _CHECKS.get(parameter.word)
    return check(name, literal) if check else None


_NUMBERS = frozenset(("number", "numeric", "integer", "index", "fraction", "numbers", "count", "size"))


def _is_number(literal: object) -> bool:
    try:
        float(str(literal))
    except ValueError:
        return False
    return True


def _unit(name: str, literal: object) -> Wrong | None:
    if str(literal).lower() in UNITS:
        return None
    plural = str(literal).lower().removesuffix("s")
    remedy = f"write {plural}" if plural in UNITS else f"units: {', '.join(UNITS)}"
    return f"'{literal}' is not a unit of {name}()", remedy


def _level(name: str, literal: object) -> Wrong | None:
    text = str(literal).lower()
    level = _LEVEL_ALIASES.get(text, text)
    if level in _LEVELS and (name != "trunc" or level in _DAYS):
        return None
    plural = level.removesuffix("s")
    units = [unit for unit in _LEVELS if name != "trunc" or unit in _DAYS]
    remedy = f"write '{plural}'" if plural in units else f"units: {', '.join(units)}"
    return f"{name}() does not know the unit '{literal}', and would return NULL for every row", remedy


def _part(_: str, literal: object) -> Wrong | None:
    if part_of(str(literal)):
        return None
    return f"'{literal}' is not a part of a time", did_you_mean(
        str(literal), _PARTS, f"parts: {', '.join(_PARTS)}"
    )


def wrong_part(text: object, interval: Value) -> Wrong | None:
    """Return what is wrong with a part of an interval, whose literal is its kind."""
    parts = _OF_KINDS.get(str(interval.literal), _OF_INTERVALS)
    if interval.type != INTERVAL or not isinstance(text, str) or part_of(text) in {"", *parts}:
        return None
    return f"an interval has no part '{text}' here", f"parts: {', '.join(parts)}"


def _fraction(_: str, literal: object) -> Wrong | None:
    if _is_number(literal) and 0 <= float(str(literal)) <= 1:
        return None
    return f"{literal} is not a fraction between 0 and 1", "write 0.5 for the median, 0.95 for 95 percent"


def _count(name: str, literal: object) -> Wrong | None:
    least = 2 if name == "histogram_numeric" else 1
    return (
        None
        if float(str(literal)) >= least
        else (f"{name}() needs at least {least}, not {literal}", f"write {least} or more")
    )


def _encoding(name: str, literal: object) -> Wrong | None:
    if str(literal).lower() in _ENCODINGS:
        return None
    return f"{name}() does not know the format '{literal}'", f"formats: {', '.join(_ENCODINGS)}"


def _number_format(_: str, literal: object) -> Wrong | None:
    if _NUMBER_FORMAT.fullmatch(str(literal).upper()):
        return None
    return f"'{literal}' is not a format of numbers", "write a digit as 9 or 0, such as '999,999.99'"


def _type(_: str, literal: object) -> Wrong | None:
    try:
        parse_type(str(literal))
    except TypeSyntaxError as error:
        return (
            f"'{literal}' is not a type: {error}",
            "write a type of Spark SQL, such as 'int' or 'array<string>'",
        )
    return None


_NOT_NULL = re.compile(r"\s+not\s+null\b|\s+comment\s+'[^']*'|\s+comment\s+\"[^\"]*\"", re.IGNORECASE)


def schema_of(text: str) -> Type | None:
    """Return the type that a schema describes: a type, or the fields of a struct; None if it is neither."""
    plain = _NOT_NULL.sub("", text)
    for candidate in (plain, f"struct<{plain}>"):
        try:
            return parse_type(candidate)
        except TypeSyntaxError:
            continue
    return None


def _schema(_: str, literal: object) -> Wrong | None:
    text = str(literal)
    if text.lstrip().startswith("{") or schema_of(text) is not None:
        return None
    return f"'{text}' is not a schema", "write fields with types, such as 'id bigint, name string', or a type"


def _letter(_: str, literal: object) -> Wrong | None:
    return None if len(str(literal)) == 1 else (f"'{literal}' is not one character", "write one character")


_COLLATION = re.compile(
    r"(UTF8_(BINARY|LCASE)|UNICODE|[a-z]{2,3}(_[a-z]{4})?(_[a-z]{2,3})?)(_(CI|CS|AI|AS|RTRIM))*",
    re.IGNORECASE,
)


def _collation(_: str, literal: object) -> Wrong | None:
    if _COLLATION.fullmatch(str(literal)):
        return None
    return f"'{literal}' is not a collation", "collations: UTF8_BINARY, UTF8_LCASE, UNICODE, UNICODE_CI"


_CHECKS: dict[str, Callable[[str, object], Wrong | None]] = {
    "collation": _collation,
    "count": _count,
    "encoding": _encoding,
    "fraction": _fraction,
    "letter": _letter,
    "level": _level,
    "numberformat": _number_format,
    "part": _part,
    "schema": _schema,
    "size": _count,
    "typename": _type,
    "unit": _unit,
}
