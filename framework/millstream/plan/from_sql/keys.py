"""Checks whether the key of a topic or table identifies the rows of its model."""

from __future__ import annotations

from typing import Literal

from msgspec.structs import replace

from millstream.core.expressions import Expression, Ref, column_expression
from millstream.core.types import STRING, TIMESTAMP
from millstream.outputs.kinds import Table
from millstream.plan.from_sql.builder import Builder
from millstream.plan.from_sql.scope import identity_items
from millstream.plan.keys import expression_value
from millstream.plan.nodes import Aggregate, Filter, Lookup, Node, Project, Repartition, Watermark
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import NotIncrementalError, Traits, known_columns
from millstream.sql.substitution import can_substitute, substitute_columns
from millstream.sql.trees import column_that_is_null

_Enough = Literal["exact", "determined", "read"]
"""What the keys must be: exactly what identifies the rows, or more than that, or maybe more."""


def checked_keys(builder: Builder, root: Node, *, in_full: bool = False) -> Node:
    """Return the model's relation with the keys of its output, and report errors in them.

    `in_full` says whether all rows can be computed with each change, which only needs unique keys.
    """
    spec = builder.spec
    stored = spec.materialization
    option = stored.key_option
    if not option:
        return root
    if any(key.lower() not in root.by_name for key in spec.given_keys):
        return root  # reported by `compile.options`, with suggestions
    traits = builder.traits.of(root)
    if traits.mode != "upsert":
        if stored.table is not None and stored.table.appends:
            _check_appended(builder, stored.table)
        return root
    if not spec.given_keys:
        row = f"the row of each {', '.join(traits.keys)}" if traits.keys else "its only row"
        key = f"config({option}={written_keys(traits.keys)})" if traits.keys else _FIXED.format(option)
        name = f"{stored.stored_as} '{stored.stored_name(spec.name)}'"
        message = f"{name} gets {row} again when it changes, but has no {option}"
        keeper = "it" if stored.table is not None else "a reader"
        remedy = f"{'set ' if traits.keys else ''}{key}: {keeper} keeps the newest row per key"
        remedy += _on_close(builder, root)
        builder.report_error("MS518", message, remedy, option="materialized")
        return root
    reason = _local_time_error(builder, root, traits)
    if reason is None and not _same(spec.given_keys, traits.keys):
        reason = _key_error(builder, root, spec.given_keys, traits.keys)
    if reason is not None:
        granularity = (
            f"there is one for each {', '.join(traits.keys)}" if traits.keys else "there is only one"
        )
        because = f"; {reason}" if reason else ""
        message = (
            f"{option} {', '.join(spec.given_keys)} does not identify these rows: {granularity}{because}"
        )
        all_of_them = f"use these columns: config({option}={written_keys(traits.keys)})"
        remedy = all_of_them if traits.keys else _FIXED.format(option)
        if not _never_null(builder) >= (assumed := frozenset(key.lower() for key in spec.given_keys)):
            tested = _key_error(builder, root, spec.given_keys, traits.keys, assumed) is None
            remedy += _TESTED.format(", ".join(spec.given_keys)) if tested else ""
        if in_full and _key_error(builder, root, spec.given_keys, traits.keys, enough="determined") is None:
            remedy += OR_IN_FULL
        elif in_full and _key_error(builder, root, spec.given_keys, traits.keys, enough="read") is None:
            remedy += in_full_if_unique(spec.given_keys)
        builder.report_error("MS518", message, remedy, option=option)
        return root
    if _same(spec.given_keys, traits.keys):
        return root
    if isinstance(root, Project):
        return builder.check(replace(root, keys=spec.given_keys), None)
    project = Project(
        input=root,
        items=tuple(identity_items(root)),
        keys=spec.given_keys,
        label=root.label,
        models=root.models,
    )
    return builder.check(project, None)


def _on_close(builder: Builder, root: Node) -> str:
    """Return the remedy for windows whose rows would each come once if they came when the windows close."""
    copies: dict[int, Node] = {}
    for node in in_order((root,)):
        inputs = [copies[id(below)] for below in node.inputs]
        copy = node.with_inputs(*inputs) if inputs else node
        copies[id(node)] = replace(copy, emit="on_close") if isinstance(copy, Aggregate) else copy
    try:
        closed = builder.traits.of(copies[id(root)])
    except NotIncrementalError:
        return ""
    remedy = "; or set emit='on_close': each window gives its row once, when no more rows can come"
    return remedy if closed.mode == "append" else ""


def _check_appended(builder: Builder, table: Table) -> None:
    """Report options that choose between the rows of a key, for a table to which rows are only appended."""
    ordered = table.order_by and not (table.retention or table.delete_by)
    deleted = table.delete_when and not table.delete_by
    chosen = {"versions": table.versions, "delete_when": deleted, "order_by": ordered}
    if name := next((name for name, is_set in chosen.items() if is_set), ""):
        message = f"table '{builder.spec.name}' has no unique_key, which '{name}' needs"
        remedy = f"set the columns that identify a row: config(unique_key='…'); or remove '{name}'"
        remedy += ": then each row is appended" + (_DELETED if name == "delete_when" else "")
        builder.report_error("MS518", message, remedy, option=name)


OR_IN_FULL = "; or set config(refresh='full'): each change computes all rows, and stores the differences"


def in_full_if_unique(keys: tuple[str, ...]) -> str:
    """Return a remedy for keys that may be unique: the table checks that when it computes rows (MS857)."""
    how = f"; or, if no two rows have the same {', '.join(keys)}, set config(refresh='full')"
    return how + OR_IN_FULL.partition("')")[2]


_DELETED = "; or set delete_by to the columns whose rows it deletes, and order_by to a time"


_TESTED = "; or add the data test not_null to {}, so that no row without a key is stored"
_FIXED = "select a constant as its key: select 'all' as id, … and config({}='id')"


def written_keys(keys: tuple[str, ...]) -> str:
    """Return columns as written in an option."""
    quoted = ", ".join(f"'{key}'" for key in keys)
    return quoted if len(keys) == 1 else f"[{quoted}]"


def _local_time_error(builder: Builder, root: Node, traits: Traits) -> str | None:
    """Return the error of a record's key that is a local time; None if it is valid."""
    if (
        not builder.spec.materialization.sends_records
        or len(builder.spec.given_keys) != 1
        or builder.around.fixed_offset
    ):
        return None
    (key,) = builder.spec.given_keys
    if root.column(key).type != TIMESTAMP:
        return None
    # A record's key is text, and a time becomes local text.
    text = Expression(("cast(", Ref(key), " as string)"), STRING)
    determined_key = expression_value(text, known_columns(root, traits), fixed_offset=False)
    return (determined_key.why and f"{determined_key.why} in {builder.around.zone}") or None


def _same(keys: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return {key.lower() for key in keys} == {key.lower() for key in others}


def _key_error(
    builder: Builder,
    root: Node,
    keys: tuple[str, ...],
    identifying: tuple[str, ...],
    assumed: frozenset[str] = frozenset(),
    enough: _Enough = "exact",
) -> str | None:
    """Return why keys do not identify rows ("" without a further reason); None if they do.

    Columns in `assumed` are taken to be never NULL, besides those that data tests require. Keys must
    determine exactly the columns that identify the rows where they come from, unless more is `enough`.
    """
    expressions = {
        key.lower(): root.column(key).expression
        for key in (*keys, *identifying)
        if key.lower() in root.by_name
    }
    node = root
    while True:
        match node:
            case Project():
                if node.keys and not _same(node.keys, keys):
                    return _covers(
                        builder, node, expressions, keys, {key.lower() for key in node.keys}, assumed, enough
                    )
                if not all(
                    can_substitute(expression, node.definitions) for expression in expressions.values()
                ):
                    return ""
                expressions = {
                    name: substitute_columns(expression, node.definitions)
                    for name, expression in expressions.items()
                }
            case Lookup() if node.kind in {"left", "inner"}:
                names = {j.name: j.source for j in node.joined if j.side == "left"}
                read = {name for expression in expressions.values() for name in expression.columns}
                if not read <= set(names):
                    return ""
                by = {
                    column.name: column_expression(names[column.name], column.type, nullable=column.nullable)
                    for column in node.columns
                    if column.name in names
                }
                expressions = {
                    name: substitute_columns(expression, by) for name, expression in expressions.items()
                }
            case Filter() | Repartition() | Watermark():
                pass
            case Aggregate():
                return _covers(
                    builder, node, expressions, keys, {key.name.lower() for key in node.keys}, assumed, enough
                )
            case _:
                upstream = {
                    expression.column.lower()
                    for key in identifying
                    if (expression := expressions[key.lower()]).column
                }
                return _covers(builder, node, expressions, keys, upstream, assumed, enough)
        (node, *_) = node.inputs


def _covers(
    builder: Builder,
    node: Node,
    expressions: dict[str, Expression],
    keys: tuple[str, ...],
    identifying: set[str],
    assumed: frozenset[str],
    enough: _Enough,
) -> str | None:
    """Return which key column loses information; None if exactly these are read, or `enough`."""
    read: set[str] = set()
    known_from_keys: set[str] = set()
    reasons: list[str] = []
    properties = known_columns(node, builder.traits.of(node))
    for key in keys:
        expression = expressions[key.lower()]
        value = expression_value(
            expression,
            properties,
            fixed_offset=builder.around.fixed_offset,
            never_null=key.lower() in assumed | _never_null(builder),
        )
        read |= expression.folded
        known_from_keys |= value.columns
        if value.why and expression.columns:
            reasons.append(value.why)
    is_enough = {
        "exact": read == identifying == known_from_keys,
        "determined": identifying <= known_from_keys,
        "read": identifying <= read,
    }
    if is_enough[enough]:
        return None
    return next(iter(reasons), "") if read == identifying else ""


def _never_null(builder: Builder) -> frozenset[str]:
    """Return the columns that a data test requires for a row to be stored."""
    columns: set[str] = set()
    for check in (*builder.spec.checks, *builder.spec.promised):
        column = column_that_is_null(check.wrong)
        if column is not None and check.severity != "warn":
            columns.add(column.lower())
    return frozenset(columns)
