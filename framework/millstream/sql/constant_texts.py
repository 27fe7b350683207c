"""Constant texts that Spark casts to another type, and can't: each row that reaches them fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, timedelta
from decimal import Decimal as Number
from decimal import InvalidOperation
from typing import Literal

from sqlglot import exp

from millstream.core.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGERS,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Decimal,
    Type,
)
from millstream.sql.argument_types import cast_to
from millstream.sql.arithmetic import operand_type
from millstream.sql.changing_functions import is_special_time
from millstream.sql.coercion import common_type_of, comparable_type
from millstream.sql.findings import Findings, span_of
from millstream.sql.scope import ConstantText
from millstream.sql.signatures import FunctionSignature
from millstream.sql.value import Value

_BITS: dict[Type, int] = {TINYINT: 7, SMALLINT: 15, INT: 31, BIGINT: 63}
_BLANKS = "".join(map(chr, (*range(33), *range(0x7F, 0xA0))))
"""What Spark trims: blanks and control characters (`UTF8String.trimAll`)."""
_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NUMBER_IN_ANY_DIGITS = re.compile(_NUMBER.pattern.replace("[0-9]", r"\d"))
"""Java's decimals have no rule for digits: those of all scripts are digits."""
_HEXADECIMAL = re.compile(r"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?[0-9]+[fd]?", re.IGNORECASE)
_SPECIAL = re.compile(r"[+-]?NaN|(?i:[+-]?(?:inf|infinity)|nan)")
_BOOLEANS = frozenset(["t", "true", "y", "yes", "1", "f", "false", "n", "no", "0"])
_LAST_YEARS: dict[Type, int] = {DATE: 9_999_999, TIMESTAMP: 294_247, TIMESTAMP_NTZ: 294_247}
_DAY = re.compile(r"[+-]?([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_CLOCK = re.compile(r"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.[0-9]*)?)?)?")
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?[+-]([0-9]{1,2})(?::?([0-9]{1,2}))?(?::?([0-9]{2}))?")


def can_read(text: str, type_: Type) -> bool:
    """Return whether a cast of a text gives a value; if uncertain, as of the name of a time zone, yes."""
    reader = _READERS.get(type_) if not isinstance(type_, Decimal) else _decimal_of(type_)
    return reader is None or reader(text.strip(_BLANKS))


def _integer(bits: int) -> Callable[[str], bool]:
    return lambda text: bool(_INTEGER.fullmatch(text)) and -(2**bits) <= int(text) < 2**bits


def _floating(text: str) -> bool:
    number = text[:-1] if text[-1:] in set("dDfF") else text
    return any((_NUMBER.fullmatch(number), _HEXADECIMAL.fullmatch(text), _SPECIAL.fullmatch(text)))


def _decimal_of(type_: Decimal) -> Callable[[str], bool]:
    def reads(text: str) -> bool:
        if not _NUMBER_IN_ANY_DIGITS.fullmatch(text):
            return False
        try:
            number = Number(text)
        except InvalidOperation:
            return False
        return not number or number.adjusted() < type_.precision - type_.scale

    return reads


def _date(text: str) -> bool:
    day = re.match(_DAY, text)
    if day is None:
        return False
    rest = text[day.end() :]
    return _is_day(day, DATE) and (not rest or (day[3] is not None and rest[0] in " T"))


def _is_day(day: re.Match[str], type_: Type) -> bool:
    year, month, number = (int(part or 1) for part in day.groups())
    if year > _LAST_YEARS[type_] or not 1 <= month <= 12:
        return False
    # The calendar repeats each 400 years.
    first = date(2000 + year % 400, month, 1)
    following = date(first.year + month // 12, month % 12 + 1, 1)
    return 1 <= number <= (following - first) // timedelta(days=1)


def _time_of(type_: Type) -> Callable[[str], bool]:
    def reads(text: str) -> bool:
        day = re.match(_DAY, text)
        if day is None:
            # Without a day, a clock is one of today, and only a timestamp with a time zone has that.
            clock = text.removeprefix("T")
            return type_ == TIMESTAMP and (":" in clock or clock != text) and _is_clock(clock)
        rest = text[day.end() :]
        if not rest or not _is_day(day, type_):
            return not rest and _is_day(day, type_)
        return day[3] is not None and rest[0] in " T" and _is_clock(rest[1:])

    return reads


def _is_clock(text: str) -> bool:
    clock = re.match(_CLOCK, text)
    if clock is None:
        return False
    hour, minute, second = (int(part or 0) for part in clock.groups())
    zone = text[clock.end() :]
    return (
        hour < 24 and minute < 60 and second < 60 and (not zone or (clock[3] is not None and _is_zone(zone)))
    )


def _is_zone(zone: str) -> bool:
    offset = _OFFSET.fullmatch(zone.strip())
    # Names of time zones are those of Java; their letters are all that is certain.
    return bool(offset) or bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9/_+:~-]*", zone.strip()))


_READERS: dict[Type, Callable[[str], bool]] = {
    **{type_: _integer(bits) for type_, bits in _BITS.items()},
    **dict.fromkeys((FLOAT, DOUBLE), _floating),
    BOOLEAN: lambda text: text.lower() in _BOOLEANS,
    DATE: _date,
    TIMESTAMP: _time_of(TIMESTAMP),
    TIMESTAMP_NTZ: _time_of(TIMESTAMP_NTZ),
}
"""Types whose values not every text can be; of the others, such as intervals, nothing is certain."""

Role = Literal["compared", "branch", "value"]
"""What a text is: compared with another value, one of several results, or a value by itself."""

_TIMES = frozenset((DATE, TIMESTAMP, TIMESTAMP_NTZ))
_EXAMPLES: dict[Type, str] = {
    **dict.fromkeys(INTEGERS, "a whole number, such as 5"),
    BOOLEAN: "true or false",
    DATE: "a date, such as date'2026-01-31'",
    TIMESTAMP: "a timestamp, such as timestamp'2026-01-31 12:00:00'",
    TIMESTAMP_NTZ: "a timestamp, such as timestamp_ntz'2026-01-31 12:00:00'",
}


def check_texts(findings: Findings, values: Iterable[Value], target: Type | None, role: Role) -> None:
    """Report values that are always one of some texts, none of which Spark can cast to a type."""
    if target is None or target == STRING:
        return
    for value in values:
        if value.texts and all(_is_unreadable(text, target) for text in value.texts):
            text = value.texts[0]
            start, stop = text.span
            message = f"'{text.text}' can't be cast to {target}"
            findings.report_at(start, stop, "MS407", message, _remedy(target, role))


def check_call(findings: Findings, signature: FunctionSignature, values: list[Value], type_: Type) -> None:
    """Report constant texts among the arguments of a call that Spark casts to what the function takes."""
    name, types = signature.name, [value.type for value in values]
    if name.startswith("try_"):
        return  # NULL instead of an error
    match name:
        case "nullif" | "equal_null":
            check_texts(findings, values, comparable_type(*types), "compared")
        case "decode" if len(values) > 2:
            for searched in values[1:-1:2] if len(values) % 2 == 0 else values[1::2]:
                pair = [values[0], searched]
                check_texts(findings, pair, comparable_type(values[0].type, searched.type), "compared")
        case "sequence":
            check_texts(findings, values[:2], common_type_of(types[:2]), "value")
        case "mod" | "pmod":
            check_texts(findings, values, operand_type("%", *values), "value")
        case "lag" | "lead":
            check_texts(findings, values[2:], values[0].type, "branch")
        case _ if signature.result == "cast":
            check_texts(findings, values, type_, "value")
        case _ if signature.result in {"common", "branches"}:
            check_texts(findings, values[signature.result == "branches" :], type_, "branch")
        case _:
            for parameter, value in zip(signature.takes(len(values)) or (), values, strict=False):
                check_texts(findings, [value], cast_to(parameter.word, value.type), "value")


def all_texts(values: Iterable[Value]) -> tuple[ConstantText, ...]:
    """Return the texts of which one of several values is one; none if a value can be another."""
    texts: list[ConstantText] = []
    for value in values:
        if not value.texts and value.type != NULL:
            return ()
        texts += value.texts
    return tuple(texts)


def move_texts(texts: tuple[ConstantText, ...], node: exp.Expr, sql: str) -> tuple[ConstantText, ...]:
    """Return texts at the place of a column that has them."""
    if not texts:
        return texts
    span = span_of(node, sql)
    return tuple(ConstantText(text.text, span) for text in texts)


def _is_unreadable(text: ConstantText, target: Type) -> bool:
    # Spark replaces 'now' and the like by the time that they mean.
    return not (can_read(text.text, target) or (target in _TIMES and is_special_time(text.text)))


def _remedy(target: Type, role: Role) -> str:
    example = _EXAMPLES.get(target, "a number, such as 1.5")
    match role:
        case "compared":
            return f"compare with {example}, or cast the other side: cast(… as string)"
        case "branch":
            return f"write {example}, or NULL, or cast the other values: cast(… as string)"
        case "value":
            return f"write {example}"
