"""The one form of expressions that have the same value, however their SQL is written.

Only rewritings that are exact in Spark count: `a <> b` is `not b = a`, and `sum(case when ok then x end)` is
`sum(x) filter (where ok)`; `(a + b) + c` is not `a + (b + c)`, because floating numbers would differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from sqlglot import exp

from millstream.sql.counts import call_of, filtered_call, is_number, without_null
from millstream.sql.durations import duration_micros
from millstream.sql.signatures import load_signatures
from millstream.sql.tokens import MARK, SPARK

_SYNONYMS = {
    "any": "bool_or",
    "bool_and": "every",
    "cardinality": "size",
    "ceiling": "ceil",
    "char_length": "length",
    "character_length": "length",
    "day": "dayofmonth",
    "ifnull": "coalesce",
    "lcase": "lower",
    "len": "length",
    "mean": "avg",
    "nvl": "coalesce",
    "pow": "power",
    "sign": "signum",
    "some": "bool_or",
    "std": "stddev",
    "stddev_samp": "stddev",
    "substr": "substring",
    "ucase": "upper",
    "var_samp": "variance",
}
"""Names that Spark registers for the same function."""

_IGNORING_NULL = frozenset(
    ("avg", "collect_list", "collect_set", "count", "max", "min", "stddev", "sum", "variance")
)
"""Aggregates for which a NULL value is as no row."""

_CASTS = frozenset(
    (
        "bigint",
        "binary",
        "boolean",
        "date",
        "double",
        "float",
        "int",
        "smallint",
        "string",
        "timestamp",
        "tinyint",
    )
)
"""Types that are also functions of one argument."""

_SYMMETRIC = (
    exp.Add,
    exp.Mul,
    exp.EQ,
    exp.NEQ,
    exp.NullSafeEQ,
    exp.BitwiseAnd,
    exp.BitwiseOr,
    exp.BitwiseXor,
)


def can_fail(tree: exp.Expr) -> bool:
    """Return whether a part of an expression can fail; a time with a constant interval does not."""
    for node in tree.walk():
        match node:
            case exp.Add() | exp.Sub() if isinstance(node.expression, exp.Interval):
                continue
            case exp.Binary() if not isinstance(node, exp.Predicate | exp.Connector):
                return True
            case exp.Anonymous() if _reads_texts(node):
                continue
            case exp.Func() | exp.Bracket() | exp.Neg() | exp.Subquery():
                if not isinstance(node, exp.Connector | exp.Predicate | exp.Case | exp.If):
                    return True
    return False


def _reads_texts(call: exp.Anonymous) -> bool:
    """Return whether a function takes texts alone and can't fail itself: each value can become a text."""
    signature = load_signatures().get(str(call.this).removesuffix(MARK).lower())
    form = signature.takes(len(call.expressions)) if signature is not None and not signature.raises else None
    return form is not None and all(parameter.word == "string" for parameter in form)


def canonical_form(tree: exp.Expr, *, ordered: bool) -> exp.Expr:
    """Return an expression in its only form, from the leaves up."""

    def rewrite(node: exp.Expr) -> exp.Expr:
        for key, value in list(node.args.items()):
            if isinstance(value, exp.Expr):
                node.set(key, rewrite(value))
            elif isinstance(value, list):
                node.set(key, [rewrite(part) if isinstance(part, exp.Expr) else part for part in value])
        return _one(node, ordered=ordered)

    return rewrite(tree)


def _one(node: exp.Expr, *, ordered: bool) -> exp.Expr:
    """Return a node in its only form; its parts are already."""
    match node:
        case exp.Paren(this=exp.Expr() as inner):
            return inner
        case exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            return _comparison(node, ordered=ordered)
        case exp.NEQ():
            equal = exp.EQ(this=node.this, expression=node.expression)
            return exp.Not(this=_symmetric(equal, ordered=ordered))
        case exp.Not():
            return _negated(node, ordered=ordered)
        case exp.Between():
            low = exp.GTE(this=node.this, expression=node.args["low"])
            high = exp.LTE(this=node.this.copy(), expression=node.args["high"])
            both = (_comparison(part, ordered=ordered) for part in (low, high))
            return _sorted(exp.and_(*both, wrap=False, copy=False), ordered=ordered)
        case exp.In(expressions=[only]) if not node.args.get("query"):
            return _symmetric(exp.EQ(this=node.this, expression=only), ordered=ordered)
        case exp.In() if not ordered and all(isinstance(member, exp.Literal) for member in node.expressions):
            members = {text_of_tree(member): member for member in node.expressions}
            node.set("expressions", [members[key] for key in sorted(members)])
            return node
        case exp.And() | exp.Or():
            return _sorted(node, ordered=ordered)
        case exp.Case():
            return _case(node, ordered=ordered)
        case exp.DPipe():
            return call_of("concat", _joined([node.this, node.expression]))
        case exp.Anonymous():
            return _called(node, ordered=ordered)
        case _ if isinstance(node, _SYMMETRIC):
            return _symmetric(node, ordered=ordered)
    return node


def _negated(node: exp.Not, *, ordered: bool) -> exp.Expr:
    match node.this:
        case exp.Not(this=exp.Expr() as inner):
            return inner
        case exp.LT() | exp.LTE() | exp.GT() | exp.GTE() as compared:
            opposite = _OPPOSITES[type(compared)](this=compared.this, expression=compared.expression)
            return _comparison(opposite, ordered=ordered)
        case exp.And() | exp.Or() as connected:
            kind = exp.Or if isinstance(connected, exp.And) else exp.And
            denied = (
                _negated(exp.Not(this=part), ordered=ordered) for part in _flat(connected, type(connected))
            )
            return _sorted(_connected(kind, denied), ordered=ordered)
    return node


_OPPOSITES: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
}


def _comparison(node: exp.Expr, *, ordered: bool) -> exp.Expr:
    """Return a comparison with its smaller operand first, if its operands can be exchanged."""
    if not isinstance(node, exp.GT | exp.GTE) or (ordered and not _exchangeable(node)):
        return node
    turned = exp.LT if isinstance(node, exp.GT) else exp.LTE
    return turned(this=node.expression, expression=node.this)


def _symmetric(node: exp.Expr, *, ordered: bool) -> exp.Expr:
    first, second = node.this, node.expression
    if text_of_tree(first) <= text_of_tree(second) or (ordered and not _exchangeable(node)):
        return node
    return type(node)(this=second, expression=first)


def _exchangeable(node: exp.Expr) -> bool:
    """Return whether operands can change places: after a NULL, Spark does not calculate the other."""
    failing = [can_fail(operand) for operand in (node.this, node.expression)]
    constant = [isinstance(operand, exp.Literal) for operand in (node.this, node.expression)]
    return not any(failing) or any(constant)


def _sorted(node: exp.Expr, *, ordered: bool) -> exp.Expr:
    """Return conditions of AND or OR in one order, each once; if `ordered`, none before one that can fail."""
    kind = type(node)
    conditions: dict[str, exp.Expr] = {}
    for can_move, group in groupby(_flat(node, kind), lambda part: not (ordered and can_fail(part))):
        parts = {text_of_tree(condition): condition for condition in group}
        for key in sorted(parts) if can_move else parts:
            conditions.setdefault(key, parts[key])
    return _connected(kind, conditions.values())


def _connected(kind: type[exp.Expr], conditions: Iterable[exp.Expr]) -> exp.Expr:
    first, *others = conditions
    for condition in others:
        first = kind(this=first, expression=condition)
    return first


def _flat(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    if isinstance(node, kind):
        yield from _flat(node.this, kind)
        yield from _flat(node.expression, kind)
    else:
        yield node


def _case(node: exp.Case, *, ordered: bool) -> exp.Expr:
    """Return a CASE with conditions, and without an ELSE of NULL; `coalesce` if it does the same."""
    base, branches = node.this, []
    for branch in node.args["ifs"]:
        equal = exp.EQ(this=base.copy(), expression=branch.this) if base is not None else None
        condition = branch.this if equal is None else _symmetric(equal, ordered=ordered)
        branches.append(exp.If(this=condition, true=branch.args["true"]))
    default = node.args.get("default")
    match branches:
        case [exp.If(this=exp.Is(this=value, expression=exp.Null())) as only] if default is not None:
            if text_of_tree(value) == text_of_tree(default):
                return call_of("coalesce", [value, only.args["true"]])
    return exp.Case(ifs=branches, default=None if isinstance(default, exp.Null) else default)


def _called(node: exp.Anonymous, *, ordered: bool) -> exp.Expr:
    name = str(node.this).removesuffix(MARK).lower()
    name, arguments = _SYNONYMS.get(name, name), list(node.expressions)
    match name, arguments:
        case "if", [condition, then, *otherwise]:
            branches = [exp.If(this=condition, true=then)]
            return _case(exp.Case(ifs=branches, default=next(iter(otherwise), None)), ordered=ordered)
        case "isnull", [operand]:
            return exp.Is(this=operand, expression=exp.Null())
        case "isnotnull", [operand]:
            return exp.Not(this=exp.Is(this=operand, expression=exp.Null()))
        case "count", [exp.Literal()]:
            return call_of("count", [exp.Star()])
        case "count_if", [condition]:
            return filtered_call(call_of("count", [exp.Star()]), condition)
        case _, [exp.Case() as only] if name in _IGNORING_NULL and _is_condition(only):
            condition, value = only.args["ifs"][0].this, only.args["ifs"][0].args["true"]
            counts = name == "count" and isinstance(value, exp.Literal)
            return filtered_call(call_of(name, [exp.Star() if counts else value]), condition)
        case "coalesce", [counted, number] if is_number(number, "0") and (count := without_null(counted)):
            return count
        case "concat", _:
            return call_of(name, _joined(arguments))
        case _, [value] if name in _CASTS:  # a TryCast is CAST in sqlglot's Spark, and TRY_CAST a call
            return exp.TryCast(this=value, to=exp.DataType.build(name, dialect=SPARK))
        case "window", [time, *lengths]:
            return call_of(name, [time, *map(_length, lengths)])
    return call_of(name, arguments)


def _is_condition(case: exp.Case) -> bool:
    """Return whether a CASE has one value, and is NULL otherwise."""
    return len(case.args["ifs"]) == 1 and case.args.get("default") is None


def _joined(parts: list[exp.Expr]) -> list[exp.Expr]:
    """Return the arguments of `concat`, with those of `concat` within."""
    return [
        inner
        for part in parts
        for inner in (
            part.expressions if isinstance(part, exp.Anonymous) and part.this == "concat" else [part]
        )
    ]


def _length(argument: exp.Expr) -> exp.Expr:
    """Return the length of a window in microseconds, if it is one."""
    length = (
        duration_micros(argument.name) if isinstance(argument, exp.Literal) and argument.is_string else ""
    )
    return argument if isinstance(length, str) else exp.Literal.string(f"{length} microseconds")


_WRITTEN: dict[type[exp.Expr], Callable[[exp.Expr], str]] = {
    exp.Identifier: lambda node: node.name,
    exp.Literal: lambda node: f"{'text' if node.is_string else 'number'} {node.name!r}",
    exp.DataType: lambda node: node.sql(SPARK).lower(),
}


def text_of_tree(node: exp.Expr) -> str:
    """Return a tree as an unambiguous text."""
    if (write := _WRITTEN.get(type(node))) is not None:
        return write(node)
    parts = []
    for key, value in sorted(node.args.items()):
        if isinstance(value, list):
            if value:
                texts = (text_of_tree(part) if isinstance(part, exp.Expr) else repr(part) for part in value)
                parts.append(f"{key}=[{', '.join(texts)}]")
        elif isinstance(value, exp.Expr):
            parts.append(f"{key}={text_of_tree(value)}")
        elif value is not None and value is not False:
            parts.append(f"{key}={value!r}")
    return f"{type(node).__name__}({', '.join(parts)})"
