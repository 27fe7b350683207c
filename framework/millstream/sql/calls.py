"""Evaluates calls: of Spark's functions by their signatures, of the project's by their Python hints."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.errors import did_you_mean
from millstream.core.types import (
    UNKNOWN,
    Array,
    Field,
    Row,
    parse_type,
)
from millstream.sql import aggregates
from millstream.sql.arguments import check_arguments, fits, misquoted_unit, report_count, written
from millstream.sql.can_fail import call_raises
from millstream.sql.casts import can_cast
from millstream.sql.constant_texts import all_texts, check_call
from millstream.sql.expressions import Expressions
from millstream.sql.grouping import quiet_shape
from millstream.sql.lambdas import LAMBDAS, call_lambda
from millstream.sql.names import function_name
from millstream.sql.nullability import argument_types, call_nullable
from millstream.sql.operators import concatenation
from millstream.sql.python_calls import call_python
from millstream.sql.randomness import check_random
from millstream.sql.results import result_type
from millstream.sql.signatures import Signature, signatures
from millstream.sql.structs import field_name, named_struct, star_columns, struct_of
from millstream.sql.value import Value, computed
from millstream.sql.windows import check_window

_KINDS = {"make_dt_interval": "time", "make_ym_interval": "months"}


def call(walk: Expressions, node: exp.Anonymous) -> Value:
    """Evaluate a call."""
    name = function_name(node)
    if function := walk.findings.functions.get(name):
        return call_python(walk, node, function)
    signature = signatures().get(name)
    if signature is None:
        return _unknown(walk, node)
    if not fits(signature, node):
        count = sum(len(a.expressions) if isinstance(a, exp.Distinct) else 1 for a in node.expressions)
        report_count(walk, node, signature, count)
        return _unknown_result(walk, node, aggregate=signature.aggregate)
    if not signature.aggregate and any(isinstance(argument, exp.Distinct) for argument in node.expressions):
        message = f"{name}() takes no DISTINCT, which is for aggregates"
        walk.findings.report(node, "MS415", message, f"write {name}(…) without DISTINCT")
        return _unknown_result(walk, node)
    if name in _GROUPINGS and not _has_sets(node):
        message = f"{name}() needs ROLLUP, CUBE or GROUPING SETS, which this SELECT does not have"
        walk.findings.report(node, "MS437", message, "remove it: each row has all group keys")
    elif name in _GROUPINGS:
        _check_grouping(walk, node, name)
    if signature.aggregate:
        return aggregates.aggregate(walk, node, signature)
    if not signature.deterministic and not (name == "unix_timestamp" and node.expressions):
        walk.findings.marks.call(node, impure=True)
    if not (name == "unix_timestamp" and node.expressions):
        check_random(walk, node, name)
    if name == "monotonically_increasing_id":
        walk.findings.add_form("row number", node, walk.scope.reads)
    if signature.window and id(node) not in walk.window_calls:
        message = f"{name}() needs OVER (…)"
        walk.findings.report(node, "MS415", message, f"add a window: {name}(…) over (order by …)")
    if signature.generator:
        message = f"{name}() returns rows, so it can't be used inside an expression"
        walk.findings.report(node, "MS415", message, f"write `lateral view {name}(…) t as column`")
        return _unknown_result(walk, node)
    return _scalar(walk, node, signature)


def _unknown(walk: Expressions, node: exp.Anonymous) -> Value:
    name = written(walk, node)
    functions = [*walk.findings.functions, *signatures()]
    definition = f"define `def {name.lower()}(…)` in a file of macros/"
    near = did_you_mean(name, functions)
    hint = (
        f"{near} A function of your own: {definition}"
        if near and not walk.findings.functions
        else near or definition
    )
    walk.findings.report(node, "MS405", f"function '{name}' does not exist", hint, name)
    # It may be an aggregate, whose arguments need no GROUP BY.
    return _unknown_result(walk, node, aggregate=True)


def _unknown_result(walk: Expressions, node: exp.Anonymous, *, aggregate: bool = False) -> Value:
    """Evaluate the arguments of an unknown call to report their errors."""
    plain = [a for a in node.expressions if not isinstance(a, exp.Star | exp.Lambda | exp.Distinct)]
    keys, walk.keys = walk.keys, None if aggregate else walk.keys
    value = computed(UNKNOWN, walk.values(plain), nullable=True)
    walk.keys = keys
    return value


_GROUPINGS = frozenset(("grouping", "grouping_id"))


def _check_grouping(walk: Expressions, node: exp.Anonymous, name: str) -> None:
    """Report arguments of `grouping` and `grouping_id` that are not the group keys."""
    if walk.keys is None or not node.expressions:
        return
    keys = list(walk.shapes)
    shapes = [quiet_shape(walk, argument) for argument in node.expressions]
    if name == "grouping" and shapes[0] not in keys:
        walk.findings.report(
            node, "MS411", "grouping() needs a column of the grouping sets", "name one of them"
        )
    elif name == "grouping_id" and shapes != keys:
        walk.findings.report(
            node, "MS411", "grouping_id() needs all columns of the grouping sets", "write grouping_id()"
        )


def _has_sets(node: exp.Expr) -> bool:
    select = node.find_ancestor(exp.Select)
    group = select.args.get("group") if select is not None else None
    sets = (exp.Rollup, exp.Cube, exp.GroupingSets)
    return group is not None and (
        any(group.args.get(kind) for kind in ("rollup", "cube", "grouping_sets"))
        or any(isinstance(part, sets) for part in group.expressions)
    )


def _scalar(walk: Expressions, node: exp.Anonymous, signature: Signature) -> Value:
    name, arguments = signature.name, node.expressions
    match name:
        case "struct":
            return struct_of(walk, arguments)
        case "named_struct":
            return named_struct(walk, arguments)
        case "arrays_zip":
            return _zipped(walk, node)
        case _ if name in LAMBDAS and (name != "array_sort" or len(arguments) > 1):
            return call_lambda(walk, node, name)
    form = signature.takes(len(arguments)) or ()
    # `dateadd(day, 1, ts)` starts with the name of a unit, not of a column.
    units = 1 if form and form[0].word == "unit" else 0
    pairs = [(argument, Value(UNKNOWN, False, literal=argument.name)) for argument in arguments[:units]]
    if (wrong := misquoted_unit(walk, node, form)) is not None:
        others = [argument for argument in arguments[units:] if argument is not wrong]
        return computed(UNKNOWN, walk.values(others), nullable=True)
    pairs += [(argument, value) for argument in arguments[units:] for value in _starred(walk, argument)]
    values = [value for _, value in pairs]
    if not check_arguments(walk, node, signature, pairs):
        return computed(UNKNOWN, values, nullable=True)
    if name in {"window", "session_window"}:
        check_window(walk, node, name, values)
    if name == "concat":
        return concatenation(walk, node, values)
    types = argument_types(signature, values)
    literals = [value.literal for value in values]
    if signature.result == "cast" and not can_cast(types[0], parse_type(name)):
        message = f"a {types[0]} can't be cast to {name}"
        walk.findings.report(node, "MS407", message, "use a part of it, or to_json(…)")
    type_ = result_type(signature.result, name, types, literals)
    check_call(walk.findings, signature, values, type_)
    if call_raises(signature, values, type_):
        walk.findings.marks.raises(node)
    elif name.startswith("try_to_") and walk.findings.marks.special_times:
        walk.findings.marks.casts_time(node)
    value = computed(type_, values, nullable=call_nullable(signature, values, type_))
    value.literal = _KINDS.get(name)
    if signature.result in {"common", "branches"}:
        value.texts = all_texts(values[signature.result == "branches" :])
    return value


def _starred(walk: Expressions, node: exp.Expr) -> list[Value]:
    star = star_columns(walk, node, named=False)
    return [walk.value(node)] if star is None else [value for _, value in star]


def _zipped(walk: Expressions, node: exp.Anonymous) -> Value:
    arguments = node.expressions
    values = walk.values(arguments)
    for argument in arguments:
        walk.findings.marks.fix(argument)
    if not check_arguments(walk, node, signatures()["arrays_zip"], list(zip(arguments, values, strict=True))):
        return computed(UNKNOWN, values, nullable=True)
    fields = [
        Field(
            field_name(argument) or str(index),
            value.type.element if isinstance(value.type, Array) else value.type,
        )
        for index, (argument, value) in enumerate(zip(arguments, values, strict=True))
    ]
    return computed(Array(Row(tuple(fields))), values)
