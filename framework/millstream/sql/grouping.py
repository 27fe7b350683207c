"""GROUP BY: the keys, and whether another expression equals a key."""

from __future__ import annotations

from sqlglot import exp

from millstream.sql.columns import resolve_column
from millstream.sql.expressions import Evaluator
from millstream.sql.names import function_name
from millstream.sql.ordering import check_grouped_type
from millstream.sql.signatures import load_signatures
from millstream.sql.value import Value

_SET_NODES = (exp.Rollup, exp.Cube, exp.GroupingSets)
_SETS = ("rollup", "cube", "grouping_sets")


def group_keys(node: exp.Select, evaluator: Evaluator) -> list[tuple[exp.Expr, Value]] | None:
    """Return the keys of a SELECT with their values; None if it has no groups."""
    group = node.args.get("group")
    if group is None:
        grouped = any(map(has_aggregate, node.expressions)) or node.args.get("having") is not None
        return [] if grouped else None
    sets = [part for kind in _SETS for part in group.args.get(kind) or () if isinstance(part, exp.Expr)]
    sets += [part for part in group.expressions if isinstance(part, _SET_NODES)]
    nodes = [part for part in group.expressions if not isinstance(part, _SET_NODES)]
    if group.args.get("all"):
        nodes = [_unaliased(item) for item in node.expressions if not has_aggregate(item)]
    evaluator.no_aggregates = "GROUP BY"
    keys = [_evaluated(key, node, evaluator) for key in nodes]
    if sets:
        kind = type(sets[0]).__name__.upper().replace("GS", "G S")
        evaluator.findings.mark_opaque(group, f"GROUP BY {kind}", at_rest=False)
        evaluator.findings.add_form("grouping sets", sets[0], evaluator.scope.reads)
        inside = [member for part in sets for member in _members(part)]
        keys += [_evaluated(key, node, evaluator) for key in inside]
        for _, value in keys:
            value.nullable = True
    evaluator.no_aggregates = ""
    return keys


def _evaluated(key: exp.Expr, node: exp.Select, evaluator: Evaluator) -> tuple[exp.Expr, Value]:
    expression = _key(key, node, evaluator)
    value = evaluator.value(expression)
    check_grouped_type(evaluator, key, value.type)
    # Spark names the column of `window(…)` after the function, even if it is only a group key.
    if (name := function_name(expression)) in {"window", "session_window"}:
        evaluator.aliases[name] = value
    return expression, value


def _members(node: exp.Expr) -> list[exp.Expr]:
    """Return the expressions within ROLLUP, CUBE and GROUPING SETS."""
    if isinstance(node, exp.Tuple | exp.Rollup | exp.Cube | exp.GroupingSets):
        return [member for part in node.expressions for member in _members(part)]
    return [node.this] if isinstance(node, exp.Paren) else [node]


def _key(key: exp.Expr, node: exp.Select, evaluator: Evaluator) -> exp.Expr:
    """Resolve `group by 1` and `group by alias` to columns of the SELECT."""
    if isinstance(key, exp.Literal) and not key.is_string and key.name.isdigit():
        index = int(key.name) - 1
        if 0 <= index < len(node.expressions):
            return _unaliased(node.expressions[index])
        if not any(item.is_star for item in node.expressions):
            message = f"GROUP BY position {key.name} is not in the SELECT list"
            remedy = "name the column, or use a number between 1 and the number of columns"
            evaluator.findings.report(key, "MS402", message, remedy)
    if isinstance(key, exp.Column) and not key.table and not evaluator.scope.named(key.name.lower()):
        for item in node.expressions:
            if isinstance(item, exp.Alias) and item.alias.lower() == key.name.lower():
                return _unaliased(item)
    return key


def _unaliased(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, exp.Alias) else node


def has_aggregate(node: exp.Expr) -> bool:
    """Return whether an expression aggregates the rows of its SELECT, not those of a window."""
    functions = load_signatures()
    for part in node.walk(prune=lambda n: isinstance(n, exp.Query)):
        if isinstance(part, exp.Anonymous):
            signature = functions.get(function_name(part))
            if signature and signature.aggregate and not _of_window(part):
                return True
    return False


def _of_window(node: exp.Expr) -> bool:
    child: exp.Expr = node
    while isinstance(
        parent := child.parent, exp.IgnoreNulls | exp.RespectNulls | exp.Filter | exp.WithinGroup
    ):
        child = parent
    return isinstance(parent, exp.Window) and parent.this is child


def expression_shape(evaluator: Evaluator, node: object) -> str:
    """Return a text that is equal for equal expressions, with or without qualifiers."""
    match node:
        case exp.Column():
            parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
            column, rest = resolve_column(evaluator, parts, node)
            return ".".join([str(id(column)), *(part.name.lower() for part in rest)])
        case exp.Query():
            return node.sql().lower()  # its columns have their own scope
        case exp.Paren():
            return expression_shape(evaluator, node.this)
        case exp.Literal(is_string=True):
            return repr(node.this)
        case exp.Expr():
            inner = ",".join(expression_shape(evaluator, value) for value in node.args.values() if value)
            return f"{type(node).__name__}({inner})"
        case list():
            return "[" + ",".join(expression_shape(evaluator, value) for value in node) + "]"
        case _:
            return str(node).lower()


def quiet_shape(evaluator: Evaluator, node: exp.Expr) -> str:
    """Return an expression's shape without reporting errors and without checking keys."""
    reported, keys = len(evaluator.findings.diagnostics), evaluator.keys
    evaluator.keys = None
    text = expression_shape(evaluator, node)
    evaluator.keys = keys
    del evaluator.findings.diagnostics[reported:]
    return text
