"""The columns of a SELECT: stars expanded, names given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from millstream.errors import did_you_mean
from millstream.sql.calls import function_name
from millstream.sql.generators import generator_columns, is_generator
from millstream.sql.scope import Bound

if TYPE_CHECKING:
    from millstream.sql.expressions import Expressions


def project(walk: Expressions, nodes: list[exp.Expr]) -> list[Bound]:
    """Return the columns of a SELECT list; a computed one without a name has the name ''."""
    columns: list[Bound] = []
    for node in nodes:
        if isinstance(node, exp.Star):
            columns += _star(walk, node, "")
        elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            columns += _star(walk, node.this, node.table, node)
        elif generator := _generator(node):
            columns += generator_columns(walk, *generator)
        else:
            value = walk.value(node)
            name = _name(node)
            columns.append(Bound(name, value.type, value.nullable, value.sources))
            if isinstance(node, exp.Alias):
                walk.aliases.setdefault(name.lower(), value)
    return columns


def _generator(node: exp.Expr) -> tuple[exp.Anonymous, list[str]] | None:
    names: list[str] = []
    inner = node
    if isinstance(node, exp.Alias):
        inner, names = node.this, [node.alias]
    elif isinstance(node, exp.Aliases):
        inner, names = node.this, [name.name for name in node.expressions]
    return (inner, names) if isinstance(inner, exp.Anonymous) and is_generator(inner) else None


def _star(walk: Expressions, star: exp.Star, alias: str, node: exp.Expr | None = None) -> list[Bound]:
    scope = walk.scope
    if alias:
        relation = scope.relation(alias)
        if relation is None:
            known = [r.alias for r in scope.relations]
            walk.shared.problem(
                node or star, "MS402", f"there is no relation '{alias}' here",
                did_you_mean(alias, known, f"relations in scope: {', '.join(known)}"), alias,
            )
            return []
        found = [(relation, column) for column in relation.columns if not column.hidden]
    else:
        found = list(scope.star())
    if walk.keys is not None:
        for _, column in found:
            if not any(column.sources == value.sources for _, value in walk.keys):
                walk.shared.problem(
                    node or star, "MS411", f"'*' brings '{column.name}', which is neither grouped nor aggregated",
                    "name the columns",
                )
                break
    kept = _except(walk, star, [column for _, column in found])
    return [Bound(column.name, column.type, column.nullable, column.sources) for column in kept]


def _except(walk: Expressions, star: exp.Star, columns: list[Bound]) -> list[Bound]:
    for part in star.args.get("except_") or ():
        name = part.name
        if not any(column.name.lower() == name.lower() for column in columns):
            known = [column.name for column in columns]
            walk.shared.problem(
                part, "MS402", f"'*' has no column '{name}' to leave out", did_you_mean(name, known, "remove it"), name
            )
        columns = [column for column in columns if column.name.lower() != name.lower()]
    return columns


def _name(node: exp.Expr) -> str:
    """Return the name that a column has: its alias, the column's own, or '' when Spark would invent one."""
    match node:
        case exp.Alias():
            return str(node.alias)
        case exp.Column():
            return str(node.name)
        case exp.Dot() if isinstance(node.expression, exp.Identifier):
            return str(node.expression.name)
        case exp.Paren():
            return _name(node.this)
        case exp.Cast() if isinstance(node.this, exp.Column):
            return str(node.this.name)
        case exp.Anonymous() if function_name(node) in {"window", "session_window"}:
            return function_name(node)
        case _:
            return ""


