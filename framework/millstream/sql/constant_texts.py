"""Constant texts that Spark casts to another type, and can't: each row that reaches them fails."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from sqlglot import exp

from millstream.core.types import (
    BOOLEAN,
    DATE,
    INTEGERS,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Type,
)
from millstream.sql.argument_types import cast_to
from millstream.sql.arithmetic import operand_type
from millstream.sql.changing import is_special_time
from millstream.sql.coercion import common, comparable
from millstream.sql.findings import Findings, span_of
from millstream.sql.scope import Text
from millstream.sql.signatures import Signature
from millstream.sql.text_casts import can_read
from millstream.sql.value import Value

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


def check_call(findings: Findings, signature: Signature, values: list[Value], type_: Type) -> None:
    """Report constant texts among the arguments of a call that Spark casts to what the function takes."""
    name, types = signature.name, [value.type for value in values]
    if name.startswith("try_"):
        return  # NULL instead of an error
    match name:
        case "nullif" | "equal_null":
            check_texts(findings, values, comparable(*types), "compared")
        case "decode" if len(values) > 2:
            for searched in values[1:-1:2] if len(values) % 2 == 0 else values[1::2]:
                pair = [values[0], searched]
                check_texts(findings, pair, comparable(values[0].type, searched.type), "compared")
        case "sequence":
            check_texts(findings, values[:2], common(types[:2]), "value")
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


def all_texts(values: Iterable[Value]) -> tuple[Text, ...]:
    """Return the texts of which one of several values is one; none if a value can be another."""
    texts: list[Text] = []
    for value in values:
        if not value.texts and value.type != NULL:
            return ()
        texts += value.texts
    return tuple(texts)


def moved(texts: tuple[Text, ...], node: exp.Expr, sql: str) -> tuple[Text, ...]:
    """Return texts at the place of a column that has them."""
    if not texts:
        return texts
    span = span_of(node, sql)
    return tuple(Text(text.text, span) for text in texts)


def _is_unreadable(text: Text, target: Type) -> bool:
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
