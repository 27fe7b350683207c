"""Evaluates calls: of Spark's functions by their signatures, of the project's by their Python hints."""

from __future__ import annotations

from sqlglot import exp

from millstream.errors import did_you_mean
from millstream.sql import aggregates
from millstream.sql.coercion import common
from millstream.sql.expressions import Expressions
from millstream.sql.grouping import quiet_shape
from millstream.sql.lambdas import LAMBDAS, call_lambda
from millstream.sql.names import function_name, plural
from millstream.sql.nullability import call_nullable
from millstream.sql.operators import concatenation
from millstream.sql.python_calls import call_python
from millstream.sql.raising import call_raises
from millstream.sql.randomness import check_random
from millstream.sql.results import result_type
from millstream.sql.spark_functions import Signature, signatures
from millstream.sql.structs import field_name, named_struct, star_columns, struct_of
from millstream.sql.value import Value, computed
from millstream.sql.windows import check_window
from millstream.types import BINARY, INT, INTERVAL, STRING, TINYINT, UNKNOWN, Array, Decimal, Field, Row, Type

_UNIT_FIRST = frozenset(["dateadd", "date_add", "datediff", "date_diff", "timestampadd", "timestampdiff"])
_KINDS = {"make_dt_interval": "time", "make_ym_interval": "months"}
_EXTRACTS = frozenset(["extract", "date_part", "datepart"])


def call(walk: Expressions, node: exp.Anonymous) -> Value:
    """Evaluate a call."""
    name = function_name(node)
    if function := walk.findings.functions.get(name):
        return call_python(walk, node, function)
    signature = signatures().get(name)
    if signature is None:
        return _unknown(walk, node)
    if not _fits(signature, node):
        given = len(node.expressions)
        message = f"{name}() takes {_arity(signature)}, not {given}"
        remedy = f"write {_arity(signature)}: see https://spark.apache.org/docs/latest/api/sql/#{name}"
        walk.findings.report(node, "MS406", message, remedy, _written(walk, node))
        return _unknown_result(walk, node, aggregate=signature.aggregate)
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


def _fits(signature: Signature, node: exp.Anonymous) -> bool:
    arguments = node.expressions
    if signature.name == "mode" and isinstance(node.parent, exp.WithinGroup):
        return len(arguments) <= 1  # `mode() within group (order by a)`
    if any(argument.is_star for argument in arguments):
        return True
    given = sum(len(a.expressions) if isinstance(a, exp.Distinct) else 1 for a in arguments)
    return signature.least <= given and (signature.most is None or given <= signature.most)


def _arity(signature: Signature) -> str:
    if signature.most is None:
        return f"{signature.least} or more arguments"
    if signature.least == signature.most:
        return plural(signature.least, "argument")
    return f"{signature.least} to {signature.most} arguments"


def _written(walk: Expressions, node: exp.Anonymous) -> str:
    start = node.meta.get("start")
    return walk.findings.sql[start : node.meta["end"] + 1] if start is not None else function_name(node)


def _unknown(walk: Expressions, node: exp.Anonymous) -> Value:
    written = _written(walk, node)
    known = [*walk.findings.functions, *signatures()]
    own = f"define `def {written.lower()}(…)` in a file of macros/"
    near = did_you_mean(written, known)
    hint = f"{near} A function of your own: {own}" if near and not walk.findings.functions else near or own
    walk.findings.report(node, "MS405", f"function '{written}' does not exist", hint, written)
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
            return _zipped(walk, arguments)
        case _ if name in LAMBDAS and any(isinstance(argument, exp.Lambda) for argument in arguments):
            return call_lambda(walk, node, name)
    # `dateadd(day, 1, ts)` starts with the name of a unit, not of a column.
    units = 1 if name in _UNIT_FIRST and len(arguments) == 3 else 0
    values = [value for argument in arguments[units:] for value in _starred(walk, argument)]
    if name in {"window", "session_window"}:
        check_window(walk, node, name, values)
    if name == "concat":
        return concatenation(walk, node, values)
    types: list[Type] = [UNKNOWN] * units + [value.type for value in values]
    literals = [None] * units + [value.literal for value in values]
    mixed = types if signature.result == "common" else types[1:] if signature.result == "branches" else []
    if common(mixed) is None:
        shown = ", ".join(map(str, mixed))
        walk.findings.report(node, "MS407", f"{name}() can't mix {shown}", "cast the arguments to one type")
    found = _part_of_interval(types, literals) if name in _EXTRACTS else None
    found = found or result_type(signature.result, name, types, literals)
    if call_raises(signature, values, found):
        walk.findings.marks.raises(node)
    value = computed(found, values, nullable=call_nullable(signature, values, found))
    value.literal = _KINDS.get(name)
    return value


def _starred(walk: Expressions, node: exp.Expr) -> list[Value]:
    star = star_columns(walk, node, named=False)
    return [walk.value(node)] if star is None else [value for _, value in star]


def _zipped(walk: Expressions, arguments: list[exp.Expr]) -> Value:
    values = walk.values(arguments)
    for argument in arguments:
        walk.findings.marks.fix(argument)
    fields = [
        Field(
            field_name(argument) or str(index),
            value.type.element if isinstance(value.type, Array) else UNKNOWN,
        )
        for index, (argument, value) in enumerate(zip(arguments, values, strict=True))
    ]
    return computed(Array(Row(tuple(fields))), values)


def _part_of_interval(types: list[Type], literals: list[object]) -> Type | None:
    """Return the type of a part of an interval; hours, minutes and months are small."""
    if types[1] != INTERVAL:
        return None
    part = str(literals[0] or "").lower()
    if part.startswith(("s",)):
        return Decimal(8, 6)
    return INT if part.startswith(("d", "y")) else TINYINT


def special(walk: Expressions, node: exp.Expr) -> Value:
    """Evaluate a call with keywords between its arguments, for which sqlglot has a separate node."""
    children = [child for child in node.iter_expressions() if not isinstance(child, exp.Var)]
    values = walk.values(children)
    if isinstance(node, exp.Extract | exp.Chr) and any(v.type in {STRING, UNKNOWN} for v in values):
        walk.findings.marks.raises(node)
    match node:
        case exp.Extract():
            types: list[Type] = [STRING, *(value.type for value in values)]
            found = _part_of_interval(types, [node.name]) or result_type(
                "datepart", "extract", types, [node.name]
            )
        case exp.StrPosition():
            found = INT
        case exp.Chr():
            return computed(STRING, values, nullable=any(v.nullable or v.type == STRING for v in values))
        case exp.Trim():
            found = STRING
        case _:
            found = BINARY if values and values[0].type == BINARY else STRING
    return computed(found, values)
