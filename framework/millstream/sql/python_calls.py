"""Calls of the project's Python functions, by their hints."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.errors import did_you_mean
from millstream.core.types import INTEGERS, NULL, STRING, UNKNOWN, Array, Map, Row, Type
from millstream.project.values import Function, FunctionParameter
from millstream.sql.coercion import common_type, is_numeric
from millstream.sql.expressions import Evaluator
from millstream.sql.findings import span_of
from millstream.sql.names import count_of
from millstream.sql.value import Value, computed_value


def call_python(evaluator: Evaluator, node: exp.Anonymous, function: Function) -> Value:
    evaluator.findings.called.add(function.name)
    evaluator.findings.marks.call(node, python=function.name, impure=bool(function.changing))
    if function.batches:
        message = f"{function.name}() writes batches of rows, so SQL can't call it"
        remedy = f"let it write this model: config(materialized='python', write='{function.name}')"
        evaluator.findings.report(node, "MS415", message, remedy)
        return computed_value(function.returns, [], nullable=True)
    if function.table:
        message = f"{function.name}() returns rows, so it can't be used inside an expression"
        evaluator.findings.report(node, "MS415", message, f"write `from …, lateral {function.name}(…) as t`")
    arguments = bind_arguments(evaluator, node, function)
    return computed_value(function.returns, list(arguments.values()), nullable=function.nullable)


def bind_arguments(evaluator: Evaluator, node: exp.Anonymous, function: Function) -> dict[str, Value]:
    """Match arguments with parameters, by position or `name => value`, and check their types."""
    names = [parameter.name for parameter in sql_parameters(function)]
    arguments: dict[str, Value] = {}
    misnamed = False
    for index, argument in enumerate(node.expressions):
        if isinstance(argument, exp.Kwarg):
            name, value = argument.this.name, evaluator.value(argument.expression)
            if name not in names:
                hint = did_you_mean(name, names, f"it takes {', '.join(names)}")
                # The tree has no position for the name: it is its last occurrence before the value.
                start = evaluator.findings.sql.rfind(name, 0, span_of(argument, evaluator.findings.sql)[0])
                message = f"{function.name}() has no parameter '{name}'"
                evaluator.findings.report_at(start, start + len(name), "MS406", message, hint, name)
                misnamed = True
                continue
        else:
            value = evaluator.value(argument)
            if index >= len(names):
                continue
            name = names[index]
        arguments[name] = value
        expected = next(parameter.type for parameter in function.parameters if parameter.name == name)
        if not fits_parameter(value.type, expected):
            message = f"{function.name}() takes a {expected} as '{name}', not a {value.type}"
            evaluator.findings.report(argument, "MS407", message, f"cast it: cast(… as {expected})")
    if not misnamed:  # otherwise the intended parameter would be reported as missing
        _check_count(evaluator, node, function, arguments)
    if function.keyed and node.expressions:
        _check_key(evaluator, node.expressions[0], function)
    return arguments


def sql_parameters(function: Function) -> tuple[FunctionParameter, ...]:
    """Return the parameters that SQL passes; for a function with keyed state, only the key."""
    return function.parameters[:1] if function.keyed else function.parameters


def _check_key(evaluator: Evaluator, argument: exp.Expr, function: Function) -> None:
    key = argument.expression if isinstance(argument, exp.Kwarg) else argument
    if not isinstance(key, exp.Column | exp.Identifier):
        message = f"the key of {function.name}() must be a column"
        remedy = "compute it in a subquery, and pass its column"
        evaluator.findings.report(argument, "MS407", message, remedy)


def _check_count(
    evaluator: Evaluator, node: exp.Anonymous, function: Function, arguments: dict[str, Value]
) -> None:
    parameters = sql_parameters(function)
    count = len(parameters)
    missing = [p.name for p in parameters if p.required and p.name not in arguments]
    if missing or len(node.expressions) > count:
        signature = ", ".join(f"{p.name}: {p.type}" for p in parameters)
        message = f"{function.name}() takes {count_of(count, 'argument')}, not {len(node.expressions)}"
        remedy = f"it is defined as {function.name}({signature})"
        evaluator.findings.report(node, "MS406", message, remedy, function.name)


def fits_parameter(source: Type, target: Type) -> bool:
    """Return whether a value can be passed to a parameter without a cast."""
    if source in {UNKNOWN, NULL} or target in (UNKNOWN, source):
        return True
    match source, target:
        case Array(), Array():
            return fits_parameter(source.element, target.element)
        case Map(), Map():
            return fits_parameter(source.key, target.key) and fits_parameter(source.value, target.value)
        case Row(), Row():
            return len(source.fields) == len(target.fields) and all(
                fits_parameter(a.type, b.type) for a, b in zip(source.fields, target.fields, strict=True)
            )
    if is_numeric(source) and is_numeric(target):
        if target in INTEGERS:
            return source in INTEGERS and INTEGERS.index(source) <= INTEGERS.index(target)
        return True
    return STRING not in {source, target} and common_type(source, target) == target
