"""The columns of a SELECT, with expanded stars and names."""

from __future__ import annotations

from msgspec.structs import replace
from sqlglot import exp

from millstream.core.errors import did_you_mean
from millstream.core.expressions import quote_name
from millstream.core.types import UNKNOWN, Row, too_large
from millstream.sql.columns import evaluate_field, resolve_column
from millstream.sql.expressions import Evaluator
from millstream.sql.findings import span_of
from millstream.sql.generators import generator_columns, is_generator
from millstream.sql.names import function_name
from millstream.sql.scope import BoundColumn, ScopeRelation, SelectOutput
from millstream.sql.value import Value


def project_items(evaluator: Evaluator, nodes: list[exp.Expr]) -> tuple[list[BoundColumn], list[exp.Expr]]:
    """Return the columns of a SELECT list ('' if a column has no name), and the item of each column."""
    columns: list[BoundColumn] = []
    origins: list[exp.Expr] = []
    for index, node in enumerate(nodes):
        columns += _item(evaluator, node, index)
        origins += [node] * (len(columns) - len(origins))
    return columns, origins


def _item(evaluator: Evaluator, node: exp.Expr, index: int) -> list[BoundColumn]:
    if isinstance(node, exp.Star):
        return _star(evaluator, node, node, index)
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        return _star(evaluator, node, node.this, index)
    if generator := _generator(node):
        return _generated(evaluator, *generator, index)
    value = evaluator.value(node)
    if message := too_large(value.type):
        evaluator.findings.report(node, "MS407", message, "select only the fields that you need")
        value = replace(value, type=UNKNOWN)
    name = _name(evaluator, node)
    evaluator.scope.outputs.append(SelectOutput(index))
    if isinstance(node, exp.Alias):
        evaluator.spellings.setdefault(name.lower(), name)
        evaluator.aliases.setdefault(name.lower(), value)
    return [BoundColumn(name, value.type, value.nullable, value.sources, texts=value.texts)]


def _generator(node: exp.Expr) -> tuple[exp.Anonymous, list[str]] | None:
    names: list[str] = []
    inner = node
    if isinstance(node, exp.Alias):
        inner, names = node.this, [node.alias]
    elif isinstance(node, exp.Aliases):
        inner, names = node.this, [name.name for name in node.expressions]
    return (inner, names) if isinstance(inner, exp.Anonymous) and is_generator(inner) else None


def _generated(evaluator: Evaluator, call: exp.Anonymous, names: list[str], index: int) -> list[BoundColumn]:
    """Return the columns of `explode(…)` in a SELECT list, whose rows are joined to the input row."""
    with evaluator.without_aliases(f"{function_name(call)}()"):
        columns = generator_columns(evaluator, call, names)
    relation = ScopeRelation(function_name(call), columns, call=call)
    evaluator.scope.join(relation, in_select_list=True)
    evaluator.scope.outputs += [SelectOutput(index, ((relation.key, column.name),)) for column in columns]
    return columns


def _star(evaluator: Evaluator, node: exp.Expr, star: exp.Star, index: int) -> list[BoundColumn]:
    if not isinstance(node, exp.Column):
        pairs = list(evaluator.scope.star())
        is_open = any(relation.open for relation in evaluator.scope.relations)
    else:
        parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
        relation = evaluator.scope.relation(parts[-1].name)
        if relation is None:
            return _of_struct(evaluator, node, star, parts, index)
        pairs = [(relation, column) for column in relation.columns if not column.hidden]
        is_open = bool(relation.open)
    origins = {id(column): evaluator.scope.refs(relation, column) for relation, column in pairs}
    columns = _except(evaluator, star, [column for _, column in pairs], is_open=is_open)
    if evaluator.keys is not None:
        _check_grouped(evaluator, star, columns)
    evaluator.scope.outputs += [SelectOutput(index, origins[id(column)]) for column in columns]
    return [replace(column, hidden=False) for column in columns]


def _check_grouped(evaluator: Evaluator, star: exp.Star, columns: list[BoundColumn]) -> None:
    free = next((column for column in columns if str(id(column)) not in evaluator.shapes), None)
    if free is not None:
        message = f"'*' includes '{free.name}', which is neither grouped nor aggregated"
        remedy = "select the columns of GROUP BY instead, and aggregate the others"
        evaluator.findings.report(exp.Star().update_positions(star), "MS411", message, remedy, "*")


def _of_struct(
    evaluator: Evaluator, node: exp.Column, star: exp.Star, parts: list[exp.Identifier], index: int
) -> list[BoundColumn]:
    """Return the fields of a struct, `item.*`."""
    fields = _fields(evaluator, node, parts)
    columns = _except(evaluator, star, fields, is_open=not fields)
    start = parts[0].meta.get("start", -1)
    reference = evaluator.findings.marks.references.get(start)
    if reference is None or not columns:
        evaluator.findings.marks.not_split("the fields of a struct whose type is unknown")
        return columns
    before = [part.name for part in parts if part.meta.get("end", 0) >= reference.stop]
    for column in columns:
        path = "".join(f".{quote_name(name)}" for name in (*before, column.name))
        evaluator.scope.outputs.append(SelectOutput(index, reference.refs, path))
    return columns


def _fields(evaluator: Evaluator, node: exp.Column, parts: list[exp.Identifier]) -> list[BoundColumn]:
    if len(parts) == 1 and not evaluator.scope.named(parts[0].name.lower()):
        name = parts[0].name
        aliases = [relation.alias for relation in evaluator.scope.relations]
        hint = did_you_mean(name, aliases, f"relations in scope: {', '.join(aliases)}")
        evaluator.findings.report(parts[0], "MS402", f"relation '{name}' is not in scope", hint, name)
        return []
    column, rest = resolve_column(evaluator, parts, node)
    value = Value(column.type, column.nullable, column.sources)
    for part in rest:
        value = evaluate_field(evaluator, value, part)
    match value.type:
        case Row(fields=fields):
            values = [
                (field.name, evaluate_field(evaluator, value, exp.to_identifier(field.name, quoted=True)))
                for field in fields
            ]
            return [BoundColumn(name, v.type, v.nullable, v.sources) for name, v in values]
        case other:
            if other != UNKNOWN:
                evaluator.findings.report(
                    parts[-1], "MS407", f"a {other} has no fields", "only structs have `.*`"
                )
            return []


def _except(
    evaluator: Evaluator, star: exp.Star, columns: list[BoundColumn], *, is_open: bool
) -> list[BoundColumn]:
    """Return the columns that EXCEPT leaves; where some are unknown, each of its names may be one of them."""
    for part in star.args.get("except_") or ():
        name = part.name
        if not is_open and not any(column.name.lower() == name.lower() for column in columns):
            names = [column.name for column in columns]
            message, hint = f"'*' has no column '{name}' to exclude", did_you_mean(name, names, "remove it")
            evaluator.findings.report(part, "MS402", message, hint, name)
        columns = [column for column in columns if column.name.lower() != name.lower()]
    return columns


def _name(evaluator: Evaluator, node: exp.Expr) -> str:
    """Return a column's name: its alias, its own name, or '' if Spark would generate one."""
    match node:
        case exp.Alias():
            return str(node.alias)
        case exp.Column():
            return str(node.name)
        case exp.Paren():
            return _name(evaluator, node.this)
        case exp.Cast() if isinstance(node.this, exp.Column) and _is_plain(evaluator, node.this):
            return str(node.this.name)
        case exp.Anonymous() if function_name(node) in {"window", "session_window"}:
            return function_name(node)
        case _:
            return ""


def _is_plain(evaluator: Evaluator, node: exp.Column) -> bool:
    """Return whether a column is not a field of a struct: only then does a cast keep its name."""
    parts = [part.name for part in node.parts]
    return len(parts) == 1 or evaluator.scope.qualified(parts)[1] == len(parts)


def name_span(item: exp.Expr, sql: str) -> tuple[int, int]:
    """Return the span of the name of an item of the SELECT list."""
    if isinstance(item, exp.Alias):
        return span_of(item.args["alias"], sql)
    if star := item.find(exp.Star) if item.is_star else None:
        return star.meta.get("start", 0), star.meta.get("end", 0) + 1
    return span_of(item.this if isinstance(item, exp.Column) else item, sql)
