"""Resolves names: columns, fields of structs, variables of lambdas, functions without parentheses."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.errors import did_you_mean
from millstream.core.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN, VARIANT, Array, Map, Row
from millstream.sql.constant_texts import move_texts
from millstream.sql.expressions import Evaluator
from millstream.sql.names import function_name
from millstream.sql.randomness import check_random
from millstream.sql.scope import NOTHING, BoundColumn, Refs, Scope, ScopeRelation, as_kind
from millstream.sql.signatures import load_signatures
from millstream.sql.value import Value

# Spark also takes `user` for a function, the account of the query. More likely, a column does not exist.
_WITHOUT_PARENTHESES = {
    name: BoundColumn(name, type_, False, NOTHING)
    for name, type_ in (
        ("current_date", DATE),
        ("current_timestamp", TIMESTAMP),
        ("localtimestamp", TIMESTAMP_NTZ),
        ("current_user", STRING),
        ("session_user", STRING),
    )
}

Resolved = tuple[BoundColumn, list[exp.Identifier]]
"""A column, and the names after it that are fields of its value."""


def evaluate_column(evaluator: Evaluator, node: exp.Column) -> Value:
    parts = [part for part in node.parts if isinstance(part, exp.Identifier)]
    column, rest = resolve_column(evaluator, parts, node)
    return _with_fields(evaluator, column, rest, parts[-1])


def evaluate_identifier(evaluator: Evaluator, node: exp.Identifier) -> Value:
    """Evaluate a bare identifier, which sqlglot uses for variables inside a lambda."""
    column, rest = resolve_column(evaluator, [node], node)
    return _with_fields(evaluator, column, rest, node)


def _with_fields(
    evaluator: Evaluator, column: BoundColumn, rest: list[exp.Identifier], last: exp.Identifier
) -> Value:
    value = Value(column.type, column.nullable, column.sources)
    value.texts = move_texts(column.texts, last, evaluator.findings.sql)
    for part in rest:
        value = evaluate_field(evaluator, value, part)
    if last.meta.get("end") in evaluator.findings.variant_paths:
        check_variant(evaluator, value, last)
        return Value(VARIANT, True, as_kind(value.sources, "computed"))
    return value


def check_variant(evaluator: Evaluator, value: Value, node: exp.Expr) -> None:
    """Report a path into a value that is not a VARIANT."""
    if value.type not in {UNKNOWN, VARIANT}:
        remedy = "write from_json or get_json_object" if value.type == STRING else "a struct has fields: a.b"
        evaluator.findings.report(
            node, "MS407", f"a {value.type} has no paths; `:` only works on VARIANT", remedy
        )


def resolve_column(evaluator: Evaluator, parts: list[exp.Identifier], node: exp.Expr) -> Resolved:
    """Return the column that names mean, and report errors."""
    names = [part.name for part in parts]
    first = names[0].lower()
    if evaluator.lambdas and (value := evaluator.variable(first)):
        return evaluator.bound(names[0], value), parts[1:]
    if len(parts) == 1 and (value := evaluator.outputs.get(first)) and _reads_output(evaluator, first):
        _mark(evaluator, parts, (("", evaluator.spellings.get(first, first)),))
        return evaluator.bound(names[0], value), []
    scope: Scope | None = evaluator.scope
    while scope is not None:
        if scope is evaluator.scope and (alias := evaluator.aliases.get(first)) and not scope.lists(first):
            # An open relation could have such a column, but what is written here is known.
            _check_alias(evaluator, parts[0], names[0])
            _mark(evaluator, parts[:1], (("", evaluator.spellings.get(first, first)),))
            return evaluator.bound(names[0], alias), parts[1:]
        if resolved := _in_scope(evaluator, scope, parts, names):
            if scope is not evaluator.scope:
                reason = f"a subquery that reads '{names[-1]}' of the enclosing query"
                evaluator.findings.marks.not_split(reason, at_rest=scope is not evaluator.scope.parent)
                _check_outer(evaluator, node, names[-1], near=scope is evaluator.scope.parent)
            if (
                evaluator.keys is not None
                and scope is evaluator.scope
                and not _is_grouped(evaluator, *resolved)
            ):
                _not_grouped(evaluator, node, names[-1])
            return resolved
        scope = scope.parent
    if len(parts) == 1 and (plain := _WITHOUT_PARENTHESES.get(first)):
        evaluator.findings.marks.impure.add(parts[0].meta.get("start", -1))
        check_random(evaluator, node, first)
        return plain, []
    _unknown(evaluator, parts, names, node)
    return BoundColumn(names[-1], UNKNOWN, True, NOTHING), []


def _check_outer(evaluator: Evaluator, node: exp.Expr, name: str, *, near: bool) -> None:
    """Report a column of an enclosing query where Spark does not see it."""
    if not near:
        message = f"'{name}' belongs to a query two levels out, which Spark can't read here"
        remedy = "join the relations in one subquery, so that it is directly within that query"
        evaluator.findings.report(node, "MS443", message, remedy)
        return
    clause = {"order": "ORDER BY", "qualify": "QUALIFY"}.get(evaluator.clause, "")
    if evaluator.inside_aggregate:
        clause = "an aggregate"
    elif evaluator.aliases_end_at == "OVER":
        clause = "a window function"
    elif evaluator.no_aggregates == "GROUP BY":
        clause = "GROUP BY"
    elif evaluator.keys is not None and not evaluator.clause:
        clause = "the SELECT list of an aggregate"
    if clause:
        message = f"{clause} of a subquery can't read '{name}' of the enclosing query"
        remedy = "join the relations, and aggregate the rows of the join"
        evaluator.findings.report(node, "MS443", message, remedy)


def _check_alias(evaluator: Evaluator, part: exp.Identifier, name: str) -> None:
    """Report an earlier column of the SELECT where Spark does not see it; `window` is a group key."""
    if evaluator.aliases_end_at and not evaluator.clause and name.lower() not in {"window", "session_window"}:
        message = f"{evaluator.aliases_end_at} can't read '{name}' of the same SELECT"
        evaluator.findings.report(
            part, "MS442", message, "repeat its expression, or compute it in a subquery or CTE"
        )


def _reads_output(evaluator: Evaluator, name: str) -> bool:
    """Return whether a name means an output of the SELECT although FROM may have a column with this name.

    ORDER BY reads outputs first, as Spark does. HAVING prefers a group key, and QUALIFY any column of FROM.
    If several relations have the name, HAVING reads the output, and QUALIFY is an error.
    """
    if evaluator.inside_aggregate:
        return False
    if (
        evaluator.clause == "order"
        or not evaluator.scope.lists(name)
        or not (columns := evaluator.scope.named(name))
    ):
        return True
    return evaluator.clause == "having" and (
        len(columns) > 1 or not _is_grouped(evaluator, columns[0][1], [])
    )


def _in_scope(
    evaluator: Evaluator, scope: Scope, parts: list[exp.Identifier], names: list[str]
) -> Resolved | None:
    if len(parts) > 1:
        matches, size = scope.qualified(names)
        if len(matches) > 1:
            relations = f"{len(matches)} relations with a column '{names[size - 1]}'"
            message = f"'{names[0]}' is the name of {relations}"
            evaluator.findings.report(parts[0], "MS413", message, f"add an alias to one: … as {names[0]}_2")
        if matches:
            relation, bound = matches[0]
            _mark(evaluator, parts[:size], ((relation.key, bound.name),), outer=scope is not evaluator.scope)
            return bound, parts[size:]
    columns = scope.named(names[0].lower())
    if not columns:
        return None
    if len(columns) > 1:
        candidates = [f"{relation.alias}.{column.name}" for relation, column in columns[:4]]
        message = f"'{names[0]}' is ambiguous: {', '.join(candidates)}"
        evaluator.findings.report(parts[0], "MS403", message, f"write {' or '.join(candidates)}")
    _mark(evaluator, parts[:1], scope.refs(*columns[0]), outer=scope is not evaluator.scope)
    return columns[0][1], parts[1:]


def _mark(evaluator: Evaluator, parts: list[exp.Identifier], refs: Refs, *, outer: bool = False) -> None:
    evaluator.findings.marks.reference(
        evaluator.scope, parts, refs, in_lambda=bool(evaluator.lambdas), by_path=len(parts) > 2, outer=outer
    )


def _is_grouped(evaluator: Evaluator, column: BoundColumn, rest: list[exp.Identifier]) -> bool:
    """Return whether a column, or one of the fields on its path, is a group key."""
    names = [str(id(column)), *(part.name.lower() for part in rest)]
    return any(".".join(names[:size]) in evaluator.shapes for size in range(1, len(names) + 1))


def _not_grouped(evaluator: Evaluator, node: exp.Expr, name: str) -> None:
    message = f"'{name}' is neither a group key nor inside an aggregate"
    evaluator.findings.report(node, "MS411", message, f"add it to GROUP BY, or use any_value({name})")


def _unknown(evaluator: Evaluator, parts: list[exp.Identifier], names: list[str], node: exp.Expr) -> None:
    start, earlier = parts[0].meta.get("start", -1), tuple(evaluator.aliases)
    evaluator.findings.marks.unknown_columns[start] = evaluator.scope, earlier
    relation = _relation(evaluator, names[0]) if len(parts) > 1 else None
    if relation:
        columns = [column.name for column in relation.columns]
        message, part, name = f"'{relation.alias}' has no column '{names[1]}'", parts[1], names[1]
        hint = did_you_mean(name, columns, suggest_names("it has", columns))
        fields = [column.name for column in relation.columns if _has_field(column, name)]
        if fields:
            hint = f"write {relation.alias}.{fields[0]}.{name}, the field of a struct"
    elif len(parts) > 1:
        part, name = parts[0], names[0]
        aliases = [r.alias for r in evaluator.scope.relations]
        hint = did_you_mean(name, aliases, f"relations in scope: {', '.join(aliases) or 'none'}")
        message = f"relation or column '{name}' is not in scope"
    else:
        part, name = parts[0], names[0]
        columns = [*evaluator.scope.names(), *evaluator.aliases]
        fields = [f"{column.name}.{name}" for column in _with_field(evaluator, name)]
        hint = did_you_mean(name, columns, suggest_names("columns in scope:", columns))
        if fields:
            hint = f"write {' or '.join(fields)}, the field of a struct"
        elif remedy := _alias_of_later(node, name):
            hint = remedy
        message = f"column '{name}' does not exist"
        if name.lower() in load_signatures() and not columns:
            hint = f"to call the function, write {name}(…)"
        elif name.lower() == "user":
            hint = f"{hint}; for the account that runs the query, write user()"
    evaluator.findings.report(part, "MS402", message, hint, name)


def _alias_of_later(node: exp.Expr, name: str) -> str:
    """Return the remedy for a name in WHERE or ON that is an alias of the SELECT; '' if it isn't one."""
    child, parent = node, node.parent
    while parent is not None and not isinstance(parent, exp.Select):
        child, parent = parent, parent.parent
    clause = "WHERE" if isinstance(child, exp.Where) else "ON" if isinstance(child, exp.Join) else ""
    items = parent.expressions if isinstance(parent, exp.Select) else []
    item = next((i for i in items if isinstance(i, exp.Alias) and i.alias.lower() == name.lower()), None)
    if not clause or item is None:
        return ""
    remedy = "repeat its expression, or compute it in a subquery or CTE"
    calls = {function_name(call) for call in item.find_all(exp.Anonymous)}
    if item.find(exp.Window):
        remedy = "filter with QUALIFY" if clause == "WHERE" else "compute it in a subquery or CTE"
    elif any((signature := load_signatures().get(call)) and signature.aggregate for call in calls):
        remedy = "filter with HAVING" if clause == "WHERE" else "compute it in a subquery or CTE"
    return f"it is an alias of this SELECT, which {clause} can't read: {remedy}"


def _with_field(evaluator: Evaluator, name: str) -> list[BoundColumn]:
    """Return the columns in scope that are structs with this field."""
    return [
        column
        for relation in evaluator.scope.relations
        for column in relation.columns
        if _has_field(column, name)
    ]


def _has_field(column: BoundColumn, name: str) -> bool:
    return isinstance(column.type, Row) and column.type.field(name) is not None


def _relation(evaluator: Evaluator, alias: str) -> ScopeRelation | None:
    scope: Scope | None = evaluator.scope
    while scope is not None:
        if relation := scope.relation(alias):
            return relation
        scope = scope.parent
    return None


def evaluate_field(evaluator: Evaluator, value: Value, part: exp.Expr) -> Value:
    """Evaluate `value.part`."""
    name = part.name
    sources = as_kind(value.sources, "computed")
    match value.type:
        case Row() as row:
            if struct_field := row.field(name):
                return Value(struct_field.type, True, sources, aggregate=value.aggregate)
            names = [struct_field.name for struct_field in row.fields]
            hint = did_you_mean(name, names, suggest_names("it has", names))
            evaluator.findings.report(part, "MS402", f"the struct has no field '{name}'", hint)
        case Array(element=Row() as row) if struct_field := row.field(name):
            return Value(Array(struct_field.type), value.nullable, sources, aggregate=value.aggregate)
        case Map(value=of):
            return Value(of, True, sources, aggregate=value.aggregate)
        case other if other not in {UNKNOWN, VARIANT}:
            message = f"a {other} has no field '{name}'"
            remedy = f"remove '.{name}': only structs and maps have fields"
            evaluator.findings.report(part, "MS407", message, remedy)
    return Value(VARIANT if value.type == VARIANT else UNKNOWN, True, sources, aggregate=value.aggregate)


def suggest_names(intro: str, names: list[str]) -> str:
    shown = sorted(dict.fromkeys(names))
    return (
        f"{intro} {', '.join(shown[:8])}{', …' if len(shown) > 8 else ''}"
        if shown
        else "no columns are in scope"
    )
