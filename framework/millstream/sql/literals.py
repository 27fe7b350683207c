"""Literals, and functions without parentheses of the clock and the session."""

from __future__ import annotations

import re
from decimal import Decimal as Number

from sqlglot import exp

from millstream.core.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTERVAL,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    Decimal,
    Type,
)
from millstream.sql.changing_functions import is_special_time
from millstream.sql.expressions import Evaluator, Handler
from millstream.sql.findings import span_of
from millstream.sql.randomness import check_random
from millstream.sql.scope import ConstantText
from millstream.sql.value import Value, computed_value

_NUMBER = re.compile(r"(?P<digits>[0-9.]+(?:[eE][+-]?[0-9]+)?)(?P<suffix>[A-Za-z]*)")
_SUFFIXES: dict[str, Type] = {"y": TINYINT, "s": SMALLINT, "l": BIGINT, "f": FLOAT, "d": DOUBLE}
_DAYS = frozenset(("day", "days", "week", "weeks"))
_MONTHS = frozenset(("month", "months", "year", "years"))


def evaluate_literal(evaluator: Evaluator, node: exp.Literal) -> Value:
    if node.is_string:
        evaluator.findings.marks.special_times |= is_special_time(node.this)
        return _text(evaluator, node)
    parts = _NUMBER.fullmatch(str(node.this))
    digits, suffix = (parts["digits"], parts["suffix"].lower()) if parts else (str(node.this), "")
    if type_ := _SUFFIXES.get(suffix):
        return Value(
            type_, False, literal=int(digits) if type_ in {TINYINT, SMALLINT, BIGINT} else float(digits)
        )
    if "e" in digits.lower() and suffix != "bd":
        return Value(DOUBLE, False, literal=float(digits))
    if "." in digits or suffix == "bd":
        return Value(_decimal(digits), False, literal=digits)
    number = int(digits)
    size = INT if number < 2**31 else BIGINT if number < 2**63 else Decimal(len(digits.lstrip("0")), 0)
    return Value(size, False, literal=number)


def _text(evaluator: Evaluator, node: exp.Expr) -> Value:
    text = str(node.this)
    return Value(
        STRING, False, literal=text, texts=(ConstantText(text, span_of(node, evaluator.findings.sql)),)
    )


def _decimal(digits: str) -> Decimal:
    _, significant, exponent = Number(digits).as_tuple()
    if not isinstance(exponent, int) or exponent >= 0:
        return Decimal(len(significant) + int(exponent), 0)
    return Decimal(max(len(significant), -exponent), -exponent)


def evaluate_interval(evaluator: Evaluator, node: exp.Interval) -> Value:
    inner = node.this
    values = [] if inner is None or isinstance(inner, exp.Literal) else [evaluator.value(inner)]
    value = computed_value(INTERVAL, values)
    unit = node.args.get("unit")
    ends = [unit.this, unit.expression] if isinstance(unit, exp.IntervalSpan) else [unit]
    names = {str(end.name).lower() for end in ends if isinstance(end, exp.Expr)}
    if names:
        value.literal = "days" if names <= _DAYS else "months" if names <= _MONTHS else "time"
    return value


def evaluate_adjacent(evaluator: Evaluator, node: exp.Concat) -> Value:
    """Evaluate adjacent literals, `'a' 'b'`; for a call of `concat`, sqlglot has another node."""
    return computed_value(STRING, evaluator.values(node.expressions))


def evaluate_now(evaluator: Evaluator, node: exp.Expr) -> Value:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(node).__name__).lower()
    check_random(evaluator, node, name)
    return Value(_CLOCK[type(node)], False)


_CLOCK: dict[type[exp.Expr], Type] = {
    exp.CurrentDate: DATE,
    exp.CurrentTimestamp: TIMESTAMP,
    exp.Localtimestamp: TIMESTAMP_NTZ,
    exp.CurrentUser: STRING,
    exp.CurrentCatalog: STRING,
    exp.SessionUser: STRING,
}

HANDLERS: dict[type[exp.Expr], Handler] = {
    exp.Literal: evaluate_literal,
    exp.Boolean: lambda _, node: Value(BOOLEAN, False, literal=bool(node.this)),
    exp.Null: lambda _, __: Value(NULL, True),
    exp.Interval: evaluate_interval,
    **dict.fromkeys((exp.RawString, exp.National), _text),
    exp.Concat: evaluate_adjacent,
    exp.HexString: lambda _, __: Value(BINARY, False),
    **dict.fromkeys(_CLOCK, evaluate_now),
}
