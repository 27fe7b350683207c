"""Evaluates calls: of Spark's functions by their signatures, of the project's by their Python hints."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.errors import did_you_mean
from millstream.core.types import (
    BOOLEAN,
    DATE,
    INT,
    INTERVAL,
    NULL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    UNKNOWN,
    VARIANT,
    Array,
    Field,
    Map,
    Row,
    Type,
    parse_type,
)
from millstream.sql import aggregates
from millstream.sql.arguments import (
    argument_span,
    check_arguments,
    fits_arity,
    misquoted_unit,
    report_count,
    written_text,
)
from millstream.sql.can_fail import call_raises
from millstream.sql.casts import can_cast
from millstream.sql.coercion import same_structure
from millstream.sql.constant_texts import all_texts, check_call
from millstream.sql.durations import duration_micros
from millstream.sql.expressions import Evaluator
from millstream.sql.grouping import quiet_shape
from millstream.sql.names import function_name
from millstream.sql.nullability import argument_types, call_nullable
from millstream.sql.operators import evaluate_concat
from millstream.sql.python_calls import call_python
from millstream.sql.randomness import check_random
from millstream.sql.result_types import result_type
from millstream.sql.signatures import FunctionSignature, load_signatures
from millstream.sql.structs import field_name, named_struct, star_columns, struct_of
from millstream.sql.value import Value, computed_value

_WORDS = """
transform filter exists forall aggregate reduce zip_with array_sort map_filter map_zip_with transform_keys
transform_values
"""
LAMBDAS = frozenset(_WORDS.split())
_FIRST_BODY = {"aggregate": 2, "reduce": 2, "zip_with": 2, "map_zip_with": 2}
"""How many arguments come before the lambdas; one, if not listed."""
_ALWAYS_NULLABLE = frozenset(("exists", "forall", "aggregate", "reduce"))

_TIMES = (TIMESTAMP, TIMESTAMP_NTZ, DATE, STRING, UNKNOWN, NULL)
_WRITE = "write a duration such as '5 minutes' or '1 hour 30 minutes'"

_KINDS = {"make_dt_interval": "time", "make_ym_interval": "months"}


def evaluate_call(evaluator: Evaluator, node: exp.Anonymous) -> Value:
    """Evaluate a call."""
    name = function_name(node)
    if function := evaluator.findings.functions.get(name):
        return call_python(evaluator, node, function)
    signature = load_signatures().get(name)
    if signature is None:
        return _unknown(evaluator, node)
    if not fits_arity(signature, node):
        count = sum(len(a.expressions) if isinstance(a, exp.Distinct) else 1 for a in node.expressions)
        report_count(evaluator, node, signature, count)
        return _unknown_result(evaluator, node, aggregate=signature.aggregate)
    if not signature.aggregate and any(isinstance(argument, exp.Distinct) for argument in node.expressions):
        message = f"{name}() takes no DISTINCT, which is for aggregates"
        evaluator.findings.report(node, "MS415", message, f"write {name}(…) without DISTINCT")
        return _unknown_result(evaluator, node)
    if name in _GROUPINGS and not _has_sets(node):
        message = f"{name}() needs ROLLUP, CUBE or GROUPING SETS, which this SELECT does not have"
        evaluator.findings.report(node, "MS437", message, "remove it: each row has all group keys")
    elif name in _GROUPINGS:
        _check_grouping(evaluator, node, name)
    if signature.aggregate:
        return aggregates.evaluate_aggregate(evaluator, node, signature)
    if not signature.deterministic and not (name == "unix_timestamp" and node.expressions):
        evaluator.findings.marks.call(node, impure=True)
    if not (name == "unix_timestamp" and node.expressions):
        check_random(evaluator, node, name)
    if name == "monotonically_increasing_id":
        evaluator.findings.add_form("row number", node, evaluator.scope.reads)
    if signature.window and id(node) not in evaluator.window_calls:
        message = f"{name}() needs OVER (…)"
        evaluator.findings.report(node, "MS415", message, f"add a window: {name}(…) over (order by …)")
    if signature.generator:
        message = f"{name}() returns rows, so it can't be used inside an expression"
        evaluator.findings.report(node, "MS415", message, f"write `lateral view {name}(…) t as column`")
        return _unknown_result(evaluator, node)
    return _scalar(evaluator, node, signature)


def _unknown(evaluator: Evaluator, node: exp.Anonymous) -> Value:
    name = written_text(evaluator, node)
    functions = [*evaluator.findings.functions, *load_signatures()]
    definition = f"define `def {name.lower()}(…)` in a file of macros/"
    near = did_you_mean(name, functions)
    hint = (
        f"{near} A function of your own: {definition}"
        if near and not evaluator.findings.functions
        else near or definition
    )
    evaluator.findings.report(node, "MS405", f"function '{name}' does not exist", hint, name)
    # It may be an aggregate, whose arguments need no GROUP BY.
    return _unknown_result(evaluator, node, aggregate=True)


def _unknown_result(evaluator: Evaluator, node: exp.Anonymous, *, aggregate: bool = False) -> Value:
    """Evaluate the arguments of an unknown call to report their errors."""
    plain = [a for a in node.expressions if not isinstance(a, exp.Star | exp.Lambda | exp.Distinct)]
    keys, evaluator.keys = evaluator.keys, None if aggregate else evaluator.keys
    value = computed_value(UNKNOWN, evaluator.values(plain), nullable=True)
    evaluator.keys = keys
    return value


_GROUPINGS = frozenset(("grouping", "grouping_id"))


def _check_grouping(evaluator: Evaluator, node: exp.Anonymous, name: str) -> None:
    """Report arguments of `grouping` and `grouping_id` that are not the group keys."""
    if evaluator.keys is None or not node.expressions:
        return
    keys = list(evaluator.shapes)
    shapes = [quiet_shape(evaluator, argument) for argument in node.expressions]
    if name == "grouping" and shapes[0] not in keys:
        evaluator.findings.report(
            node, "MS411", "grouping() needs a column of the grouping sets", "name one of them"
        )
    elif name == "grouping_id" and shapes != keys:
        evaluator.findings.report(
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


def _scalar(evaluator: Evaluator, node: exp.Anonymous, signature: FunctionSignature) -> Value:
    name, arguments = signature.name, node.expressions
    match name:
        case "struct":
            return struct_of(evaluator, arguments)
        case "named_struct":
            return named_struct(evaluator, arguments)
        case "arrays_zip":
            return _zipped(evaluator, node)
        case _ if name in LAMBDAS and (name != "array_sort" or len(arguments) > 1):
            return call_lambda(evaluator, node, name)
    form = signature.takes(len(arguments)) or ()
    # `dateadd(day, 1, ts)` starts with the name of a unit, not of a column.
    units = 1 if form and form[0].word == "unit" else 0
    pairs = [(argument, Value(UNKNOWN, False, literal=argument.name)) for argument in arguments[:units]]
    if (wrong := misquoted_unit(evaluator, node, form)) is not None:
        others = [argument for argument in arguments[units:] if argument is not wrong]
        return computed_value(UNKNOWN, evaluator.values(others), nullable=True)
    pairs += [(argument, value) for argument in arguments[units:] for value in _starred(evaluator, argument)]
    values = [value for _, value in pairs]
    if not check_arguments(evaluator, node, signature, pairs):
        return computed_value(UNKNOWN, values, nullable=True)
    if name in {"window", "session_window"}:
        check_window(evaluator, node, name, values)
    if name == "concat":
        return evaluate_concat(evaluator, node, values)
    types = argument_types(signature, values)
    literals = [value.literal for value in values]
    if signature.result == "cast" and not can_cast(types[0], parse_type(name)):
        message = f"a {types[0]} can't be cast to {name}"
        evaluator.findings.report(node, "MS407", message, "use a part of it, or to_json(…)")
    type_ = result_type(signature.result, name, types, literals)
    check_call(evaluator.findings, signature, values, type_)
    if call_raises(signature, values, type_):
        evaluator.findings.marks.raises(node)
    elif name.startswith("try_to_") and evaluator.findings.marks.special_times:
        evaluator.findings.marks.casts_time(node)
    value = computed_value(type_, values, nullable=call_nullable(signature, values, type_))
    value.literal = _KINDS.get(name)
    if signature.result in {"common", "branches"}:
        value.texts = all_texts(values[signature.result == "branches" :])
    return value


def _starred(evaluator: Evaluator, node: exp.Expr) -> list[Value]:
    star = star_columns(evaluator, node, named=False)
    return [evaluator.value(node)] if star is None else [value for _, value in star]


def _zipped(evaluator: Evaluator, node: exp.Anonymous) -> Value:
    arguments = node.expressions
    values = evaluator.values(arguments)
    for argument in arguments:
        evaluator.findings.marks.fix(argument)
    if not check_arguments(
        evaluator, node, load_signatures()["arrays_zip"], list(zip(arguments, values, strict=True))
    ):
        return computed_value(UNKNOWN, values, nullable=True)
    fields = [
        Field(
            field_name(argument) or str(index),
            value.type.element if isinstance(value.type, Array) else value.type,
        )
        for index, (argument, value) in enumerate(zip(arguments, values, strict=True))
    ]
    return computed_value(Array(Row(tuple(fields))), values)


def check_window(evaluator: Evaluator, node: exp.Anonymous, name: str, values: list[Value]) -> None:
    first = values[0].type
    if first not in _TIMES and not (name == "window" and isinstance(first, Row)):
        message = f"{name}() needs a timestamp, not a {first}"
        remedy = "convert it, for example with timestamp_millis(…) from milliseconds"
        evaluator.findings.report(node.expressions[0], "MS407", message, remedy)
    if name == "session_window":
        gap = values[1]
        if isinstance(gap.literal, str) or gap.type != STRING:
            _length(evaluator, node, gap)
        return
    lengths = [
        _length(evaluator, node, value, least=0 if i == 2 else 1) for i, value in enumerate(values[1:])
    ]
    if any(length is None for length in lengths):
        return
    duration, slide, start = (*lengths, *lengths[:1])[:2] + ((lengths[2],) if len(lengths) > 2 else (0,))
    assert duration is not None
    assert slide is not None
    assert start is not None
    if slide > duration:
        _wrong(evaluator, node, "a window's slide can't be longer than the window", "write a shorter slide")
    elif abs(start) >= slide:
        _wrong(evaluator, node, "a window's start must be shorter than its slide", "write a shorter start")


def _length(evaluator: Evaluator, node: exp.Anonymous, value: Value, *, least: int = 1) -> int | None:
    """Return the length of a duration in microseconds; report an invalid one."""
    literal = None if value.type == INTERVAL else value.literal
    if isinstance(literal, bool) or not isinstance(literal, int | str):
        _wrong(evaluator, node, "the duration of a window must be a string literal", _WRITE)
        return None
    length = duration_micros(literal) if isinstance(literal, str) else literal
    if isinstance(length, str):
        _wrong(evaluator, node, length, _WRITE, str(literal))
        return None
    if least and length < least:
        _wrong(evaluator, node, f"a window can't have a length of '{literal}'", _WRITE, str(literal))
        return None
    return length


def _wrong(evaluator: Evaluator, node: exp.Anonymous, message: str, remedy: str, text: str = "") -> None:
    """Report an error at the text of an argument, for which the tree has no position."""
    start = evaluator.findings.sql.find(f"'{text}'", node.meta.get("start", 0)) if text else -1
    if start < 0:
        evaluator.findings.report(node, "MS434", message, remedy)
    else:
        evaluator.findings.report_at(start, start + len(text) + 2, "MS434", message, remedy)


def call_lambda(evaluator: Evaluator, node: exp.Anonymous, name: str) -> Value:
    """Evaluate the plain arguments, then each function with its variables bound to their elements."""
    bodies_from = _FIRST_BODY.get(name, 1)
    arguments = node.expressions
    plain = [evaluator.value(argument) for argument in arguments[:bodies_from]]
    functions = [(body, Value(UNKNOWN, True)) for body in arguments[bodies_from:]]
    if not check_arguments(
        evaluator, node, load_signatures()[name], [*zip(arguments, plain, strict=False), *functions]
    ):
        return computed_value(UNKNOWN, plain, nullable=True)
    bodies: list[Value] = []
    for index, (body, _) in enumerate(functions):
        value = _body(evaluator, body, _variables(name, plain, bodies), plain)
        _check_body(evaluator, node, name, bodies_from + index, value, plain)
        bodies.append(value)
    values = [*plain, *bodies]
    nullable = name in _ALWAYS_NULLABLE or any(value.nullable for value in plain)
    return computed_value(_result(name, plain, bodies), values, nullable=nullable)


def _check_body(
    evaluator: Evaluator, node: exp.Anonymous, name: str, index: int, body: Value, plain: list[Value]
) -> None:
    """Report the body of a lambda that returns another type than the function needs."""
    expected: Type | None = None
    match name:
        case "exists" | "forall" | "filter" | "map_filter":
            expected = BOOLEAN
        case "array_sort":
            expected = INT
        case "aggregate" | "reduce" if index == 2:
            expected = plain[1].type
        case "transform_keys" if body.type == VARIANT or isinstance(body.type, Map):
            expected = STRING
    nothing = body.type == NULL and name != "array_sort"
    if expected is None or nothing or same_structure(expected, body.type):
        return
    start, stop = argument_span(evaluator, node, index)
    message = f"the lambda of {name}() must return {expected}, not {body.type}"
    remedy = f"write … -> cast(… as {expected})"
    if name in {"aggregate", "reduce"}:
        remedy = f"begin with a value of the type that the lambda returns: cast(… as {body.type})"
    evaluator.findings.report_at(start, stop, "MS407", message, remedy)


def _body(evaluator: Evaluator, node: exp.Expr, types: list[Type], plain: list[Value]) -> Value:
    if not isinstance(node, exp.Lambda):
        return evaluator.value(node)  # a value that is the same for all elements
    sources = computed_value(UNKNOWN, plain).sources
    evaluator.findings.marks.lambda_of(node)
    variables = {
        variable.name.lower(): Value(types[index] if index < len(types) else UNKNOWN, True, sources)
        for index, variable in enumerate(node.expressions)
    }
    evaluator.lambdas.append(variables)
    try:
        return evaluator.value(node.this)
    finally:
        evaluator.lambdas.pop()


def _variables(name: str, plain: list[Value], bodies: list[Value]) -> list[Type]:
    types = [value.type for value in plain]
    match name:
        case "aggregate" | "reduce":
            start = types[1] if len(types) > 1 else UNKNOWN
            return [start, _element(types[0])] if not bodies else [bodies[0].type]
        case "zip_with":
            return [_element(types[0]), _element(types[1]) if len(types) > 1 else UNKNOWN]
        case "array_sort":
            return [_element(types[0])] * 2
        case "map_filter" | "transform_keys" | "transform_values":
            return [*_entry(types[0])]
        case "map_zip_with":
            key, value = _entry(types[0])
            return [key, value, _entry(types[1])[1] if len(types) > 1 else UNKNOWN]
        case _:
            return [_element(types[0]), INT]


def _result(name: str, plain: list[Value], bodies: list[Value]) -> Type:
    first, last = plain[0].type, bodies[-1].type
    match name:
        case "transform" | "zip_with":
            return Array(last)
        case "exists" | "forall":
            return BOOLEAN
        case "aggregate" | "reduce":
            return plain[1].type if last == NULL and len(bodies) == 1 else last
        case "transform_keys":
            return Map(last, _entry(first)[1])
        case "transform_values" | "map_zip_with":
            return Map(_entry(first)[0], last)
        case _:
            return first


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, Array) else UNKNOWN


def _entry(type_: Type) -> tuple[Type, Type]:
    return (type_.key, type_.value) if isinstance(type_, Map) else (UNKNOWN, UNKNOWN)
