"""Names expressions so that equal names mean equal values, however the SQL is written.

Only rewritings that are exact in Spark count: `a <> b` is `not b = a`, and `sum(case when ok then x end)` is
`sum(x) filter (where ok)`; `(a + b) + c` is not `a + (b + c)`, because floating numbers would differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b

from sqlglot import exp
from sqlglot.errors import SqlglotError

from millstream.sql.durations import duration_micros
from millstream.sql.tokens import MARK, SPARK, tokenize_sql
from millstream.sql.values import SqlDiagnostic

_PREFIX = "meaning_"
_LARGEST = 300
"""Nodes of an expression up to which others contain it; beyond, they only contain its name."""

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


class Equivalence:
    """Gives names to expressions; a name is a column in the expressions that are made of it."""

    def __init__(self) -> None:
        self._trees: dict[str, exp.Expr] = {}
        """Named expressions, to be read as a part of others."""
        self._names: dict[tuple[str, bool], str] = {}
        """By text, and by whether it may fail: most texts are the same in both versions of a project."""

    def name(self, text: str, *, raises: bool = False) -> str:
        """Return the name of an expression; `raises` if one of its parts may fail, so that order matters."""
        name = self._names.get((text, raises))
        if name is None:
            name = self._names[text, raises] = self._named_text(text, raises=raises)
        return name

    def _named_text(self, text: str, *, raises: bool) -> str:
        tree = _parsed(text)
        if tree is None:
            return leaf_name(text)
        tree = tree.transform(self._inlined, copy=False)
        return self._named(_rewritten(tree, ordered=raises and _can_fail(tree)))

    def filtered(self, call: str, condition: str) -> str:
        """Return the name of an aggregate over the rows for which a condition holds, both by their names."""
        return self._named(_filtered(self._tree(call), self._tree(condition)))

    def all_of(self, conditions: Iterable[str], *, raises: bool = False) -> str:
        """Return the name of several conditions, by their names."""
        first, *others = map(self._tree, conditions)
        for condition in others:
            first = exp.And(this=first, expression=condition)
        return self._named(first if raises and _can_fail(first) else _rewritten(first, ordered=False))

    def _tree(self, name: str) -> exp.Expr:
        tree = self._trees.get(name)
        return exp.Column(this=exp.Identifier(this=name)) if tree is None else tree.copy()

    def _named(self, tree: exp.Expr) -> str:
        if isinstance(tree, exp.Column) and tree.name.startswith(_PREFIX):
            return tree.name
        name = leaf_name(_text(tree))
        if sum(1 for _ in tree.walk()) <= _LARGEST:
            self._trees[name] = tree
        return name

    def _inlined(self, node: exp.Expr) -> exp.Expr:
        return self._tree(node.name) if isinstance(node, exp.Column) and node.name in self._trees else node


def _can_fail(tree: exp.Expr) -> bool:
    """Return whether a part of an expression can fail; a time with a constant interval does not."""
    for node in tree.walk():
        match node:
            case exp.Add() | exp.Sub() if isinstance(node.expression, exp.Interval):
                continue
            case exp.Binary() if not isinstance(node, exp.Predicate | exp.Connector):
                return True
            case exp.Func() | exp.Bracket() | exp.Neg() | exp.Subquery():
                if not isinstance(node, exp.Connector | exp.Predicate | exp.Case | exp.If):
                    return True
    return False


def leaf_name(text: str) -> str:
    """Return the name of something that is only equal to itself; a name stays as it is."""
    if text.startswith(_PREFIX) and text.isidentifier():
        return text
    return _PREFIX + blake2b(text.encode(), digest_size=12).hexdigest()


def _parsed(text: str) -> exp.Expr | None:
    tokens = tokenize_sql(f"select {text}")
    if isinstance(tokens, SqlDiagnostic) or tokens.variant_paths or tokens.watermarks or ">>>" in text:
        return None
    try:
        (tree,) = SPARK.parser().parse(tokens.tokens, text)
    except (SqlglotError, RecursionError, ValueError):
        return None
    if not isinstance(tree, exp.Select) or len(tree.expressions) != 1:
        return None
    expression: exp.Expr = tree.expressions[0]
    return None if isinstance(expression, exp.Alias) else expression


def _rewritten(tree: exp.Expr, *, ordered: bool) -> exp.Expr:
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
        case exp.GT():
            return exp.LT(this=node.expression, expression=node.this)
        case exp.GTE():
            return exp.LTE(this=node.expression, expression=node.this)
        case exp.NEQ():
            return exp.Not(this=_symmetric(exp.EQ(this=node.this, expression=node.expression)))
        case exp.Not():
            return _negated(node)
        case exp.Between() if not ordered:
            low = exp.LTE(this=node.args["low"], expression=node.this)
            high = exp.LTE(this=node.this.copy(), expression=node.args["high"])
            return _sorted(exp.And(this=low, expression=high))
        case exp.In(expressions=[only]) if not node.args.get("query"):
            return _symmetric(exp.EQ(this=node.this, expression=only))
        case exp.In() if not ordered and all(isinstance(member, exp.Literal) for member in node.expressions):
            members = {_text(member): member for member in node.expressions}
            node.set("expressions", [members[key] for key in sorted(members)])
            return node
        case exp.And() | exp.Or():
            return node if ordered else _sorted(node)
        case exp.Case():
            return _case(node)
        case exp.DPipe():
            return _call("concat", _joined([node.this, node.expression]))
        case exp.Anonymous():
            return _called(node)
        case _ if isinstance(node, _SYMMETRIC):
            return _symmetric(node)
    return node


def _negated(node: exp.Not) -> exp.Expr:
    match node.this:
        case exp.Not(this=exp.Expr() as inner):
            return inner
        case exp.LT(this=left, expression=right):
            return exp.LTE(this=right, expression=left)
        case exp.LTE(this=left, expression=right):
            return exp.LT(this=right, expression=left)
    return node


def _symmetric(node: exp.Expr) -> exp.Expr:
    first, second = node.this, node.expression
    return node if _text(first) <= _text(second) else type(node)(this=second, expression=first)


def _sorted(node: exp.Expr) -> exp.Expr:
    """Return conditions of AND or OR in one order, each once."""
    kind = type(node)
    conditions = {_text(condition): condition for condition in _flat(node, kind)}
    first, *others = (conditions[key] for key in sorted(conditions))
    for condition in others:
        first = kind(this=first, expression=condition)
    return first


def _flat(node: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    if isinstance(node, kind):
        yield from _flat(node.this, kind)
        yield from _flat(node.expression, kind)
    else:
        yield node


def _case(node: exp.Case) -> exp.Expr:
    """Return a CASE with conditions, and without an ELSE of NULL; `coalesce` if it does the same."""
    base, branches = node.this, []
    for branch in node.args["ifs"]:
        condition = (
            branch.this if base is None else _symmetric(exp.EQ(this=base.copy(), expression=branch.this))
        )
        branches.append(exp.If(this=condition, true=branch.args["true"]))
    default = node.args.get("default")
    match branches:
        case [exp.If(this=exp.Is(this=value, expression=exp.Null())) as only] if default is not None:
            if _text(value) == _text(default):
                return _call("coalesce", [value, only.args["true"]])
    return exp.Case(ifs=branches, default=None if isinstance(default, exp.Null) else default)


def _called(node: exp.Anonymous) -> exp.Expr:
    name = str(node.this).removesuffix(MARK).lower()
    name, arguments = _SYNONYMS.get(name, name), list(node.expressions)
    match name, arguments:
        case "if", [condition, then, *otherwise]:
            return _case(
                exp.Case(ifs=[exp.If(this=condition, true=then)], default=next(iter(otherwise), None))
            )
        case "isnull", [operand]:
            return exp.Is(this=operand, expression=exp.Null())
        case "isnotnull", [operand]:
            return exp.Not(this=exp.Is(this=operand, expression=exp.Null()))
        case "count", [exp.Literal()]:
            return _call("count", [exp.Star()])
        case "count_if", [condition]:
            return _filtered(_call("count", [exp.Star()]), condition)
        case _, [exp.Case() as only] if name in _IGNORING_NULL and _is_condition(only):
            condition, value = only.args["ifs"][0].this, only.args["ifs"][0].args["true"]
            counts = name == "count" and isinstance(value, exp.Literal)
            return _filtered(_call(name, [exp.Star() if counts else value]), condition)
        case "concat", _:
            return _call(name, _joined(arguments))
        case _, [value] if name in _CASTS:  # a TryCast is CAST in sqlglot's Spark, and TRY_CAST a call
            return exp.TryCast(this=value, to=exp.DataType.build(name, dialect=SPARK))
        case "window", [time, *lengths]:
            return _call(name, [time, *map(_length, lengths)])
    return _call(name, arguments)


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


def _call(name: str, arguments: list[exp.Expr]) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=arguments)


def _filtered(call: exp.Expr, condition: exp.Expr) -> exp.Filter:
    return exp.Filter(this=call, expression=exp.Where(this=condition))


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


def _text(node: exp.Expr) -> str:
    """Return a tree as an unambiguous text."""
    if (write := _WRITTEN.get(type(node))) is not None:
        return write(node)
    parts = []
    for key, value in sorted(node.args.items()):
        if isinstance(value, list):
            if value:
                parts.append(
                    f"{key}=[{', '.join(_text(v) if isinstance(v, exp.Expr) else repr(v) for v in value)}]"
                )
        elif isinstance(value, exp.Expr):
            parts.append(f"{key}={_text(value)}")
        elif value is not None and value is not False:
            parts.append(f"{key}={value!r}")
    return f"{type(node).__name__}({', '.join(parts)})"
