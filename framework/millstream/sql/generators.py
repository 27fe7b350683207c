"""Functions that generate rows: `explode`, `inline` and the like, and Python functions that yield."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.errors import did_you_mean
from millstream.core.types import BIGINT, INT, NULL, STRING, UNKNOWN, VARIANT, Array, Map, Row, Type
from millstream.sql.arguments import check_arguments
from millstream.sql.expressions import Evaluator
from millstream.sql.names import function_name
from millstream.sql.python_calls import bind_arguments
from millstream.sql.scope import BoundColumn, ScopeRelation, as_kind
from millstream.sql.signatures import load_signatures
from millstream.sql.value import Value


def is_generator(node: exp.Expr) -> bool:
    signature = load_signatures().get(function_name(node))
    return bool(signature and signature.generator)


def generated_relation(evaluator: Evaluator, node: exp.Expr, alias: str, names: list[str]) -> ScopeRelation:
    """Return the relation that a call in FROM or LATERAL generates."""
    if not isinstance(node, exp.Anonymous):
        evaluator.findings.mark_opaque(node, f"{type(node).__name__} as a relation")
        return ScopeRelation(alias, [], "?")
    name = function_name(node)
    if (function := evaluator.findings.functions.get(name)) and function.table:
        evaluator.findings.called.add(function.name)
        evaluator.findings.marks.call(node, python=function.name, impure=bool(function.changing))
        arguments = list(bind_arguments(evaluator, node, function).values())
        row = function.returns
        parts: list[tuple[str, Type]] = [("value", row)]
        if isinstance(row, Row):
            parts = [(field.name, field.type) for field in row.fields]
        return ScopeRelation(alias or name, _columns(parts, names, arguments))
    signature = load_signatures().get(name)
    if signature is None or not signature.generator:
        functions = [*(n for n, f in evaluator.findings.functions.items() if f.table), *_generators()]
        hint = did_you_mean(
            name, functions, f"functions that return rows: {', '.join(sorted(functions)[:8])}"
        )
        evaluator.findings.report(node, "MS405", f"'{name}' is not a function that returns rows", hint, name)
        return ScopeRelation(alias or name, [], "?")
    return ScopeRelation(alias or name, generator_columns(evaluator, node, names))


def _generators() -> list[str]:
    return [name for name, signature in load_signatures().items() if signature.generator]


def generator_columns(evaluator: Evaluator, node: exp.Anonymous, names: list[str]) -> list[BoundColumn]:
    """Return the columns that `explode(…)` and the like generate, named by `as`."""
    values = evaluator.values(node.expressions)
    name = function_name(node)
    for subquery in node.find_all(exp.In, exp.Exists):
        if subquery.args.get("query") or isinstance(subquery, exp.Exists):
            message = f"a subquery is not allowed in {name}()"
            remedy = "join the relation that it reads, and use its column"
            evaluator.findings.report(subquery, "MS431", message, remedy)
    if not values:
        evaluator.findings.report(node, "MS406", f"{name}() needs an argument", "pass an array or a map")
        return []
    signature = load_signatures()[name]
    if not check_arguments(evaluator, node, signature, list(zip(node.expressions, values, strict=True))):
        return []
    type_ = values[0].type
    parts: list[tuple[str, Type]]
    match name:
        case "explode" | "explode_outer":
            parts = _exploded(type_)
        case "posexplode" | "posexplode_outer":
            parts = [("pos", INT), *_exploded(type_)]
        case "inline" | "inline_outer":
            row = type_.element if isinstance(type_, Array) else UNKNOWN
            parts = (
                [(field.name, field.type) for field in row.fields]
                if isinstance(row, Row)
                else [("col", UNKNOWN)]
            )
        case "json_tuple":
            parts = [(f"c{index}", STRING) for index in range(len(values) - 1)]
        case "stack":
            count = values[0].literal if isinstance(values[0].literal, int) else 1
            width = -(-(len(values) - 1) // max(count, 1))
            columns_of = [[value.type for value in values[1 + index :: width]] for index in range(width)]
            parts = [
                (f"col{index}", next((type_ for type_ in types if type_ != NULL), NULL))
                for index, types in enumerate(columns_of)
            ]
        case "range":
            parts = [("id", BIGINT)]
        case _:
            parts = [("pos", INT), ("key", STRING), ("value", VARIANT)]
    columns = _columns(parts, names, values)
    if not name.endswith("_outer"):
        # Positions and the keys of maps are never NULL.
        for (part, _), column in zip(parts, columns, strict=True):
            never_null = {"pos", "value"} if name == "variant_explode" else {"pos", "key"}
            column.nullable = part not in never_null and name != "range"
    return columns


def _exploded(type_: Type) -> list[tuple[str, Type]]:
    match type_:
        case Array(element=element):
            return [("col", element)]
        case Map(key=key, value=value):
            return [("key", key), ("value", value)]
        case _:
            return [("col", UNKNOWN)]


def _columns(parts: list[tuple[str, Type]], names: list[str], values: list[Value]) -> list[BoundColumn]:
    sources = frozenset().union(*(as_kind(value.sources, "computed") for value in values))
    return [
        BoundColumn(names[index] if index < len(names) else name, type_, True, sources)
        for index, (name, type_) in enumerate(parts)
    ]
