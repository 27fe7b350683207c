"""Checks the arguments of a call against its signature: their number, types and constants."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from millstream.core.types import (
    BINARY,
    INTEGERS,
    INTERVAL,
    NULL,
    STRING,
    UNKNOWN,
    VARIANT,
    Array,
    Map,
    Row,
    Type,
)
from millstream.sql.argument_types import accepts_type, cast_for, type_noun
from millstream.sql.argument_values import wrong_part, wrong_value
from millstream.sql.arithmetic import arithmetic_type
from millstream.sql.coercion import (
    TIMES,
    common_type,
    common_type_of,
    comparable_type,
    is_assignable,
    is_numeric,
    tightest_type,
)
from millstream.sql.constants import is_constant
from millstream.sql.expressions import Evaluator
from millstream.sql.findings import span_of
from millstream.sql.names import count_of, function_name
from millstream.sql.signatures import Form, FunctionSignature, SignatureParameter
from millstream.sql.value import Value
from millstream.sql.words import CLOSING, OPENING

_INDEXES = INTEGERS[:3]
"""The integers that Spark casts to int without a loss."""
_SIGNS = {"try_add": "+", "try_subtract": "-", "try_multiply": "*", "try_divide": "/"}

Argument = tuple[exp.Expr, Value]
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")


def fits_arity(signature: FunctionSignature, node: exp.Anonymous) -> bool:
    """Return whether a function takes so many arguments; those of a star are counted later."""
    if signature.name == "mode" and isinstance(node.parent, exp.WithinGroup):
        return len(node.expressions) <= 1  # `mode() within group (order by a)`
    parts = [
        part for a in node.expressions for part in (a.expressions if isinstance(a, exp.Distinct) else [a])
    ]
    return any(part.is_star for part in parts) or signature.takes(len(parts)) is not None


def report_count(evaluator: Evaluator, node: exp.Expr, signature: FunctionSignature, count: int) -> None:
    name, arity = signature.name, arity_of(signature)
    remedy = f"write {arity}: see https://spark.apache.org/docs/latest/api/sql/#{name}"
    evaluator.findings.report(
        node, "MS406", f"{name}() takes {arity}, not {count}", remedy, written_text(evaluator, node)
    )


def arity_of(signature: FunctionSignature) -> str:
    if signature.most is None:
        return f"{signature.least} or more arguments"
    if signature.least == signature.most:
        return count_of(signature.least, "argument")
    return f"{signature.least} to {signature.most} arguments"


def written_text(evaluator: Evaluator, node: exp.Expr) -> str:
    start = node.meta.get("start")
    return evaluator.findings.sql[start : node.meta["end"] + 1] if start is not None else function_name(node)


def check_arguments(
    evaluator: Evaluator, node: exp.Expr, signature: FunctionSignature, arguments: Sequence[Argument]
) -> bool:
    """Report what Spark would not accept as arguments; return whether it accepts all."""
    form = signature.takes(len(arguments))
    if form is None:
        report_count(evaluator, node, signature, len(arguments))
        return False
    before = len(evaluator.findings.diagnostics)
    types = [value.type for _, value in arguments]
    for index, (parameter, argument) in enumerate(zip(form, arguments, strict=True)):
        if not _fits_type(parameter, argument[1]):
            _report_type(evaluator, node, signature, parameter, index, argument)
        elif _by_type(parameter, types[0]).constant and not is_constant(argument[0]):
            message = f"{signature.name}() needs a constant as its {_ordinal(index)} argument"
            _report(
                evaluator,
                node,
                index,
                message,
                "write a literal: Spark needs the value before it reads any row",
            )
        elif complaint := wrong_value(_by_type(parameter, types[0]), signature.name, argument[1]):
            _report(evaluator, node, index, *complaint)
        elif parameter.word == "timed" and (complaint := wrong_part(arguments[0][1].literal, argument[1])):
            _report(evaluator, node, 0, *complaint)
        elif not agrees_with_first(parameter.word, types[0], types[index]):
            message = f"{signature.name}() of {types[0]} does not take {types[index]}"
            _report(evaluator, node, index, message, _agreeing(evaluator, node, index, types[0], argument[1]))
    words = [parameter.word + "&" * parameter.alike for parameter in form]
    if len(evaluator.findings.diagnostics) == before and not have_common_type(words, types):
        mixed = [
            str(type_)
            for word, type_ in zip(words, types, strict=True)
            if word == "common" or word[-1] == "&"
        ]
        message = f"{signature.name}() can't mix {', '.join(dict.fromkeys(mixed))}"
        evaluator.findings.report(node, "MS407", message, "cast the arguments to one type")
    if (
        arguments
        and len(evaluator.findings.diagnostics) == before
        and (reason := describe_disagreement(signature.name, types, arguments[0][1].literal))
    ):
        evaluator.findings.report(
            node, "MS407", f"{signature.name}(): {reason}", "cast the arguments to types that fit"
        )
    return len(evaluator.findings.diagnostics) == before


def misquoted_unit(evaluator: Evaluator, node: exp.Expr, form: Form) -> exp.Expr | None:
    """Report and return a unit in quotes where Spark has a word, or a word where Spark has a text."""
    for index, (parameter, argument) in enumerate(zip(form, node.expressions, strict=False)):
        name, unit = function_name(node), argument.name.lower()
        if parameter.word == "unit" and isinstance(argument, exp.Literal) and argument.is_string:
            message = f"{name}() takes a unit without quotes"
            fits = wrong_value(parameter, name, Value(STRING, False, literal=unit))
            _report(evaluator, node, index, message, fits[1] if fits else f"write {unit}")
            return argument
        if parameter.word in {"level", "part"} and isinstance(argument, exp.Column) and not argument.table:
            value = Value(STRING, False, literal=unit)
            if (
                wrong_value(parameter, name, value)
                or evaluator.scope.named(unit)
                or evaluator.aliases.get(unit)
            ):
                continue
            _report(evaluator, node, index, f"{name}() takes a unit in quotes", f"write '{unit}'")
            return argument
    return None


def _by_type(parameter: SignatureParameter, first: Type) -> SignatureParameter:
    """Return a parameter that depends on the first argument: a format of numbers is a constant."""
    if parameter.word == "picture" and (is_numeric(first) or first in {STRING, NULL}):
        return SignatureParameter("numberformat", constant=True)
    return parameter


def _fits_type(parameter: SignatureParameter, value: Value) -> bool:
    if value.type == NULL and not parameter.nulls:
        return False
    return accepts_type(parameter.word, value.type)


def _report_type(
    evaluator: Evaluator,
    node: exp.Expr,
    signature: FunctionSignature,
    parameter: SignatureParameter,
    index: int,
    argument: Argument,
) -> None:
    type_ = argument[1].type
    which = "" if len(node.expressions) == 1 else f" as its {_ordinal(index)} argument"
    shown = "NULL" if type_ == NULL else str(type_)
    message = f"{signature.name}() takes {type_noun(parameter.word)}{which}, not {shown}"
    _report(evaluator, node, index, message, _cast_remedy(evaluator, node, parameter, index, argument))


def _cast_remedy(
    evaluator: Evaluator, node: exp.Expr, parameter: SignatureParameter, index: int, argument: Argument
) -> str:
    type_ = argument[1].type
    target = cast_for(parameter.word, type_)
    if target is not None and argument[1].literal is None:
        start, stop = argument_span(evaluator, node, index)
        return f"write cast({evaluator.findings.sql[start:stop]} as {target})"
    if isinstance(type_, Array | Map | Row):
        return f"use {type_noun(parameter.word)}, such as an element or a field of the {type_}"
    return f"use {type_noun(parameter.word)}"


def _agreeing(evaluator: Evaluator, node: exp.Expr, index: int, first: Type, value: Value) -> str:
    type_, literal = value.type, value.literal
    element = first.element if isinstance(first, Array) else first.key if isinstance(first, Map) else None
    if element is None or literal is not None or type_ == NULL or isinstance(type_, Array):
        return f"write a value of type {element}" if element is not None else "cast one to the other's type"
    target: object = (
        "int" if function_name(node).endswith("element_at") and isinstance(first, Array) else element
    )
    start, stop = argument_span(evaluator, node, index)
    return f"write cast({evaluator.findings.sql[start:stop]} as {target})"


def _report(evaluator: Evaluator, node: exp.Expr, index: int, message: str, remedy: str) -> None:
    evaluator.findings.report_at(*argument_span(evaluator, node, index), "MS407", message, remedy)


def _ordinal(index: int) -> str:
    return _ORDINALS[index] if index < len(_ORDINALS) else f"{index + 1}th"


def argument_span(evaluator: Evaluator, node: exp.Expr, index: int) -> tuple[int, int]:
    """Return where an argument is written, or the call if it has no position."""
    source, start = evaluator.findings.source, node.meta.get("start")
    if start is None or not isinstance(node, exp.Anonymous):
        return span_of(node, evaluator.findings.sql)
    name = source.index_at(start)
    spans: list[tuple[int, int]] = []
    depth, first = 0, name + 2
    for position in range(name + 1, len(source.tokens)):
        kind = source.tokens[position].token_type
        depth += (kind in OPENING) - (kind in CLOSING)
        if depth == 0 or (depth == 1 and kind == TokenType.COMMA):
            spans.append(source.span((first, position)))
            first = position + 1
        if depth == 0:
            break
    if index < len(spans) and spans[index][1]:
        return spans[index]
    return start, node.meta["end"] + 1


def agrees_with_first(word: str, first: Type, type_: Type) -> bool:
    """Return whether an argument agrees with the first one, an array or a map."""
    if UNKNOWN in (first, type_):
        return True
    match word, first:
        case "default", _:
            return type_ == first if first == NULL else is_assignable(type_, first)
        case "element", Array(element=element):
            return tightest_type(element, type_) is not None
        case "member", Array(element=element):
            return type_ != NULL and common_type(element, type_, texts=False) is not None
        case "same", Array():
            return isinstance(type_, Array) and common_type(first, type_, texts=False) is not None
        case "key", Array():
            return type_ in _INDEXES
        case "key", Map(key=key):
            return tightest_type(key, type_) is not None
        case _:
            return True


def have_common_type(words: list[str], types: list[Type]) -> bool:
    """Return whether arguments that need a common type have one: those of `common`, and those of `word&`."""
    promoted = [type_ for word, type_ in zip(words, types, strict=True) if word == "common"]
    alike = [type_ for word, type_ in zip(words, types, strict=True) if word.endswith("&")]
    return common_type_of(promoted) is not None and common_type_of(alike, texts=False) is not None


def describe_disagreement(name: str, types: list[Type], count: object) -> str:
    """Return why the arguments of a call don't fit each other, by the rule of the function; '' if they do.

    `count` is the first argument if it is a literal.
    """
    match name:
        case "sequence":
            return _sequence(types)
        case "try_add" | "try_subtract" | "mod" | "try_mod" | "pmod" | "try_multiply" | "try_divide":
            return _calculated(name, types)
        case "nullif" | "equal_null":
            return "" if comparable_type(*types) else f"{types[0]} and {types[1]} can't be compared"
        case "decode" if len(types) > 2:
            return _decoded(types)
        case "map":
            return _map(types)
        case "width_bucket":
            intervals = {type_ == INTERVAL for type_ in types[:3] if type_ != UNKNOWN}
            return (
                "the value and its bounds must all be numbers or all be intervals"
                if len(intervals) > 1
                else ""
            )
        case "overlay" | "elt" | "lpad" | "rpad" if BINARY in types and name == "overlay":
            return "" if types[0] == types[1] else "bytes can only replace bytes"
        case "listagg" | "string_agg" if len(types) > 1 and BINARY in types:
            return (
                "" if types[1] in {types[0], NULL} else "the delimiter must be of the same type as the values"
            )
        case "stack":
            return _stack(types[1:], count)
        case "map_zip_with":
            first, second = types[:2]
            alike = (
                isinstance(first, Map) and isinstance(second, Map) and tightest_type(first.key, second.key)
            )
            return "" if alike or UNKNOWN in types[:2] else "both maps need keys of one type"
        case _:
            return ""


def _sequence(types: list[Type]) -> str:
    ends = common_type_of(types[:2])
    if UNKNOWN in types:
        return ""
    if ends in TIMES:
        fits = len(types) < 3 or types[2] == INTERVAL
        return "" if fits else f"the step between times must be an interval, not {types[2]}"
    if ends is not None and common_type_of(types) in INTEGERS:
        return ""
    return f"it counts from a whole number or a time to another, not {' and '.join(map(str, types))}"


def _calculated(name: str, types: list[Type]) -> str:
    sign = _SIGNS.get(name, "%")
    left, right = (Value(type_, True) for type_ in types)
    return "" if arithmetic_type(sign, left, right) else f"{types[0]} {sign} {types[1]} can't be calculated"


def _decoded(types: list[Type]) -> str:
    searched, results = types[1:-1:2] if len(types) % 2 == 0 else types[1::2], types[2::2]
    results = results + types[-1:] if len(types) % 2 == 0 else results
    if wrong := [str(type_) for type_ in searched if not comparable_type(types[0], type_)]:
        return f"{types[0]} can't be compared with {wrong[0]}"
    shown = ", ".join(dict.fromkeys(map(str, results)))
    return "" if common_type_of(results) is not None else f"its results have different types: {shown}"


def _map(types: list[Type]) -> str:
    if len(types) % 2:
        return "it takes pairs of a key and a value"
    keys, values = types[::2], types[1::2]
    if wrong := next((key for key in keys if key == VARIANT or isinstance(key, Map)), None):
        return f"{wrong} can't be a key of a map"
    for what, of in (("keys", keys), ("values", values)):
        if common_type_of(of) is None:
            return f"its {what} have different types: {', '.join(dict.fromkeys(map(str, of)))}"
    return ""


def _stack(types: list[Type], count: object) -> str:
    if not isinstance(count, int) or count < 1:
        return ""
    width = -(-len(types) // count)
    for column in range(width):
        of = dict.fromkeys(type_ for type_ in types[column::width] if type_ not in {NULL, UNKNOWN})
        if len(of) > 1:
            return f"column {column + 1} has different types: {', '.join(map(str, of))}"
    return ""
