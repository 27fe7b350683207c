"""SQL of one column or condition, written otherwise: some of it means the same, some only nearly.

Which is which says DuckDB, not this file; only for those of SAME a verdict must be `same` when rows are.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from sqlglot import exp, parse_one

SAME = frozenset(
    {"operands exchanged", "turned around", "not the opposite", "a list in another order", "count of 1", "in one value"}
)  # fmt: skip


def rewritten(random: Random, text: str) -> tuple[str, str] | None:
    """Return a name of what was done, and SQL in which one random part is written otherwise."""
    tree = parse_one(text, read="duckdb")
    nodes = [node for node in tree.walk() if isinstance(node, exp.Condition)]
    rewrites = [(node, name, new) for node in nodes for name, new in _others(node)]
    if not rewrites:
        return None
    node, name, new = random.choice(rewrites)
    replacement = parse_one(new, read="duckdb")
    replacement = exp.paren(replacement) if isinstance(replacement, exp.Binary) else replacement
    if node is tree:
        return name, replacement.sql("duckdb")
    node.replace(replacement)
    return name, tree.sql("duckdb")


def _others(node: exp.Expression) -> Iterator[tuple[str, str]]:
    yield from _other_conditions(node)
    yield from _other_values(node)


def _sql(part: exp.Expression | None) -> str:
    text = part.sql("duckdb") if part is not None else ""
    return f"({text})" if isinstance(part, exp.Binary) else text


def _other_conditions(node: exp.Expression) -> Iterator[tuple[str, str]]:
    match node:
        case exp.EQ() | exp.NEQ() | exp.Add() | exp.Mul() | exp.And() | exp.Or():
            symbol = {exp.EQ: "=", exp.NEQ: "<>", exp.Add: "+", exp.Mul: "*", exp.And: "and", exp.Or: "or"}
            yield "operands exchanged", f"{_sql(node.right)} {symbol[type(node)]} {_sql(node.left)}"
    match node:
        case exp.EQ():
            yield "in one value", f"{_sql(node.left)} in ({_sql(node.right)})"
            yield "not the opposite", f"not ({_sql(node.left)} <> {_sql(node.right)})"
            yield "equal or both NULL", f"{_sql(node.left)} is not distinct from {_sql(node.right)}"
            yield "or NULL", f"{_sql(node)} or {_sql(node.left)} is null"
        case exp.NEQ():
            yield "not the opposite", f"not ({_sql(node.left)} = {_sql(node.right)})"
            yield (
                "less or greater",
                f"{_sql(node.left)} < {_sql(node.right)} or {_sql(node.left)} > {_sql(node.right)}",
            )
            yield "distinct from", f"{_sql(node.left)} is distinct from {_sql(node.right)}"
            yield "less", f"{_sql(node.left)} < {_sql(node.right)}"
        case exp.GT():
            yield "turned around", f"{_sql(node.right)} < {_sql(node.left)}"
            yield "not the opposite", f"not ({_sql(node.left)} <= {_sql(node.right)})"
            yield "or equal", f"{_sql(node.left)} >= {_sql(node.right)}"
            yield "of NULL as 9", f"coalesce({_sql(node.left)}, 9) > {_sql(node.right)}"
        case exp.In() if node.expressions:
            values = list(map(_sql, node.expressions))
            yield "a list in another order", f"{_sql(node.this)} in ({', '.join(reversed(values))})"
            yield "a value twice", f"{_sql(node.this)} in ({', '.join([*values, values[0]])})"
            yield "alternatives", " or ".join(f"{_sql(node.this)} = {value}" for value in values)
            yield "a value less", f"{_sql(node.this)} in ({values[0]})"
        case exp.Not() if isinstance(node.this, exp.Is):
            yield "equal to itself", f"{_sql(node.this.this)} = {_sql(node.this.this)}"


def _other_values(node: exp.Expression) -> Iterator[tuple[str, str]]:
    match node:
        case exp.Case() if not node.this and len(node.args["ifs"]) == 1:
            (branch,), default = node.args["ifs"], node.args["default"]
            condition, value = _sql(branch.this), _sql(branch.args["true"])
            yield "branches exchanged", f"case when not ({condition}) then {_sql(default)} else {value} end"
            yield (
                "of two branches",
                f"case when {condition} then {value} when not ({condition}) then {_sql(default)} end",
            )
        case exp.Coalesce() if len(node.expressions) == 1:
            first, second = _sql(node.this), _sql(node.expressions[0])
            yield "coalesce as case", f"case when {first} is null then {second} else {first} end"
            yield "coalesce exchanged", f"coalesce({second}, {first})"
            yield "coalesce twice", f"coalesce({first}, {second}, {second})"
        case exp.Mul() if isinstance(node.right, exp.Literal) and node.right.name == "2":
            yield "added to itself", f"{_sql(node.left)} + {_sql(node.left)}"
        case exp.Upper():
            yield "upper twice", f"upper({_sql(node)})"
        case exp.Count():
            yield "count as sum", f"sum(case when {_sql(node.this)} is null then 0 else 1 end)"
            yield "count of 1", "count(1)"
            yield "count of different", f"count(distinct {_sql(node.this)})"
        case exp.Sum():
            yield "sum with 0 for NULL", f"sum(coalesce({_sql(node.this)}, 0))"
            yield "half of sums", f"sum({_sql(node.this)}) filter (where {_sql(node.this)} is not null)"
            yield "sum of some", f"sum({_sql(node.this)}) filter (where {_sql(node.this)} > 2)"
        case exp.Max() | exp.Min():
            yield "the other end", f"{'min' if isinstance(node, exp.Max) else 'max'}({_sql(node.this)})"
