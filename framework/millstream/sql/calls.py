"""Calls of functions: Spark's by their signatures, the project's by their Python hints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import did_you_mean
from millstream.project.values import Function
from millstream.sql.coercion import common, common_type, is_numeric
from millstream.sql.lambdas import LAMBDAS, call_lambda
from millstream.sql.results import result_type
from millstream.sql.spark_functions import Signature, signatures
from millstream.sql.tokens import MARK
from millstream.types import BIGINT, INT, INTEGERS, NULL, STRING, UNKNOWN, Array, Decimal, Field, Map, Row, Type

if TYPE_CHECKING:
    from millstream.sql.expressions import Expressions, Value

_UNIT_FIRST = frozenset("dateadd date_add datediff date_diff timestampadd timestampdiff".split())
_NAMED = frozenset(("struct", "named_struct"))


def call_function(walk: Expressions, node: exp.Anonymous, written: str) -> Value:
    """Return what is known of a call."""
    name = written.lower()
    if function := walk.shared.functions.get(name):
        return _python(walk, node, function)
    signature = signatures().get(name)
    if signature is None:
        return _unknown(walk, node, written)
    arguments = node.expressions
    if not signature.least <= len(arguments) <= (signature.most if signature.most is not None else len(arguments)):
        walk.shared.problem(
            node, "MS406", f"{name}() takes {_arity(signature)}, not {len(arguments)}", "see Spark's functions", written
        )
        return _result(walk, UNKNOWN, [walk.value(a) for a in arguments if not isinstance(a, exp.Star | exp.Lambda)])
    if signature.aggregate:
        return _aggregate(walk, node, signature)
    if signature.window and not _in_window(node):
        walk.shared.problem(node, "MS415", f"{name}() needs OVER (…)", "write which rows it looks at")
    if signature.generator:
        walk.shared.problem(
            node, "MS415", f"{name}() makes rows, so it can't stand inside an expression",
            f"write `lateral view {name}(…) t as column`",
        )
    return _scalar(walk, node, signature)


def window_function(walk: Expressions, node: exp.Expr) -> Value:
    """Return what is known of a call before OVER: an aggregate there does not group its SELECT."""
    allowed, walk.no_aggregates = walk.no_aggregates, ""
    value = walk.value(node)
    walk.no_aggregates = allowed
    value.aggregate = False
    return value


def _in_window(node: exp.Expr) -> bool:
    parent = node.parent
    while isinstance(parent, exp.IgnoreNulls | exp.RespectNulls):
        parent = parent.parent
    return isinstance(parent, exp.Window)


def _arity(signature: Signature) -> str:
    if signature.most is None:
        return f"{signature.least} or more arguments"
    if signature.least == signature.most:
        return f"{signature.least} argument{'s' if signature.least != 1 else ''}"
    return f"{signature.least} to {signature.most} arguments"


def _unknown(walk: Expressions, node: exp.Anonymous, written: str) -> Value:
    known = [*walk.shared.functions, *signatures()]
    hint = did_you_mean(written, known, f"define `def {written.lower()}(…)` in a file of macros/")
    walk.shared.problem(node, "MS405", f"there is no function '{written}'", hint, written)
    return _result(walk, UNKNOWN, [walk.value(a) for a in node.expressions if not isinstance(a, exp.Star | exp.Lambda)])


def _result(walk: Expressions, found: Type, values: list[Value], *, nullable: bool = True) -> Value:
    from millstream.sql.expressions import computed  # noqa: PLC0415

    return computed(found, values, nullable=nullable)


def _aggregate(walk: Expressions, node: exp.Anonymous, signature: Signature) -> Value:
    from millstream.sql.expressions import computed  # noqa: PLC0415

    if walk.no_aggregates:
        walk.shared.problem(
            node, "MS415", f"{signature.name}() can't stand in {walk.no_aggregates}", "filter aggregates with HAVING"
        )
    keys, walk.keys = walk.keys, None
    allowed, walk.no_aggregates = walk.no_aggregates, "another aggregate"
    arguments = [
        inner
        for argument in node.expressions
        for inner in (argument.expressions if isinstance(argument, exp.Distinct) else [argument])
    ]
    values = [walk.value(argument) for argument in arguments if not isinstance(argument, exp.Star)]
    walk.keys, walk.no_aggregates = keys, allowed
    types = [value.type for value in values]
    if not types and signature.name not in {"count", "grouping_id"}:
        walk.shared.problem(node, "MS406", f"{signature.name}(*) is not possible", "name a column")
        types = [UNKNOWN]
    if signature.name in {"sum", "avg", "mean"} and types[0] not in {UNKNOWN, STRING, NULL} and not _summable(types[0]):
        walk.shared.problem(node, "MS407", f"{signature.name}() needs numbers, not {types[0]}", "cast the argument")
    found = result_type(signature.result, signature.name, types, [value.literal for value in values])
    value = computed(found, values, nullable=signature.nullable != "never", aggregate=True)
    # max(x) can give any of its inputs, and a grouped aggregate of what is never NULL is never NULL.
    if keys is not None and signature.name in _KEEPS_NULLS and values:
        value.nullable = any(argument.nullable for argument in values)
    return value


_KEEPS_NULLS = frozenset("min max first last first_value last_value any_value min_by max_by avg mean median sum".split())


def _summable(found: Type) -> bool:
    return is_numeric(found) or str(found) == "interval"


def _scalar(walk: Expressions, node: exp.Anonymous, signature: Signature) -> Value:
    name, arguments = signature.name, node.expressions
    if name in _NAMED:
        return _struct(walk, name, arguments)
    if name in LAMBDAS and any(isinstance(argument, exp.Lambda) for argument in arguments):
        return call_lambda(walk, node, name)
    units = 1 if name in _UNIT_FIRST and len(arguments) == 3 else 0
    values = [walk.value(argument) for argument in arguments[units:]]
    types = [UNKNOWN] * units + [value.type for value in values]
    literals = [None] * units + [value.literal for value in values]
    if signature.result == "common" and common(types) is None:
        shown = ", ".join(map(str, types))
        walk.shared.problem(node, "MS407", f"{name}() can't mix {shown}", "cast the arguments to one type")
    found = result_type(signature.result, name, types, literals)
    return _result(walk, found, values, nullable=_nullable(signature, values))


def _nullable(signature: Signature, values: list[Value]) -> bool:
    match signature.nullable:
        case "never":
            return False
        case "always":
            return True
        case "coalesce":
            return all(value.nullable for value in values)
        case "branches":
            return any(value.nullable for value in values[1:])
        case _:
            return any(value.nullable for value in values)


def _struct(walk: Expressions, name: str, arguments: list[exp.Expr]) -> Value:
    fields: list[Field] = []
    values: list[Value] = []
    if name == "named_struct":
        for label, argument in zip(arguments[::2], arguments[1::2], strict=False):
            values.append(walk.value(argument))
            fields.append(Field(str(walk.value(label).literal or f"col{len(fields) + 1}"), values[-1].type))
    else:
        for index, argument in enumerate(arguments, 1):
            values.append(walk.value(argument))
            fields.append(Field(argument.alias_or_name or f"col{index}", values[-1].type))
    return _result(walk, Row(tuple(fields)), values, nullable=False)


def _python(walk: Expressions, node: exp.Anonymous, function: Function) -> Value:
    walk.shared.called.add(function.name)
    if function.table:
        walk.shared.problem(
            node, "MS415", f"{function.name}() makes rows, so it can't stand inside an expression",
            f"write `from …, lateral {function.name}(…) as t`",
        )
    given = bind_arguments(walk, node, function)
    values = list(given.values())
    nullable = function.nullable
    return _result(walk, function.returns, values, nullable=nullable)


def bind_arguments(walk: Expressions, node: exp.Anonymous, function: Function) -> dict[str, Value]:
    """Match arguments with parameters, by place or `name => value`, and check their types."""
    names = [parameter.name for parameter in function.parameters]
    given: dict[str, Value] = {}
    for index, argument in enumerate(node.expressions):
        if isinstance(argument, exp.Kwarg):
            name, value = argument.name, walk.value(argument.expression)
            if name not in names:
                hint = did_you_mean(name, names, f"it takes {', '.join(names)}")
                walk.shared.problem(argument, "MS406", f"{function.name}() has no parameter '{name}'", hint, name)
                continue
        else:
            value = walk.value(argument)
            if index >= len(names):
                continue
            name = names[index]
        given[name] = value
        wanted = next(parameter for parameter in function.parameters if parameter.name == name)
        if not _assignable(value.type, wanted.type):
            walk.shared.problem(
                argument, "MS407",
                f"{function.name}() takes a {wanted.type} as '{name}', not a {value.type}",
                f"cast it: cast(… as {wanted.type})",
            )
    missing = [p.name for p in function.parameters if p.required and p.name not in given]
    if missing or len(node.expressions) > len(names):
        signature = ", ".join(f"{p.name}: {p.type}" for p in function.parameters)
        walk.shared.problem(
            node, "MS406",
            f"{function.name}() takes {len(names)} argument{'s' if len(names) != 1 else ''}, not {len(node.expressions)}",
            f"it is defined as {function.name}({signature})", function.name,
        )
    return given


def _assignable(given: Type, wanted: Type) -> bool:
    if given in {UNKNOWN, NULL} or wanted == UNKNOWN or given == wanted:
        return True
    match given, wanted:
        case Array(), Array():
            return _assignable(given.element, wanted.element)
        case Map(), Map():
            return _assignable(given.key, wanted.key) and _assignable(given.value, wanted.value)
        case Row(), Row():
            return len(given.fields) == len(wanted.fields) and all(
                _assignable(a.type, b.type) for a, b in zip(given.fields, wanted.fields, strict=True)
            )
    if is_numeric(given) and is_numeric(wanted):
        if wanted in INTEGERS:
            return given in INTEGERS and INTEGERS.index(given) <= INTEGERS.index(wanted)  # type: ignore[arg-type]
        return True
    if given in {INT, BIGINT} and isinstance(wanted, Decimal):
        return True
    return STRING not in {given, wanted} and common_type(given, wanted) == wanted


def function_name(node: exp.Expr) -> str:
    """Return the name of a marked call, as written in lower case."""
    return str(node.this).removesuffix(MARK).lower() if isinstance(node, exp.Anonymous) else ""
