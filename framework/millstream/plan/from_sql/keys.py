"""Whether the key of a topic or table tells the rows of its model apart."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.expressions import Expression, Ref, can_substitute, column, substitute
from millstream.materialization import Sink, Table
from millstream.plan.from_sql.builder import Builder
from millstream.plan.from_sql.scope import kept
from millstream.plan.keys import determined
from millstream.plan.nodes import Aggregate, Filter, Lookup, Node, Project, Repartition, Watermark
from millstream.plan.traits import Traits, known_columns
from millstream.types import STRING, TIMESTAMP


def checked_keys(builder: Builder, root: Node) -> Node:
    """Return the model's relation with the keys of its output; what is wrong with them is reported."""
    spec = builder.spec
    stored = spec.materialization
    option = stored.key_option
    if not option:
        return root
    known = {name.lower(): name for name in root.names}
    for key in spec.keys:
        if key.lower() not in known:
            return root  # told by who knows near names
    traits = builder.traits.of(root)
    if traits.mode != "upsert":
        if isinstance(stored, Table) and not spec.keys:
            builder.problem(
                "MS518",
                f"table '{spec.name}' does not say which rows replace each other",
                "name the columns that tell rows apart: config(unique_key='…')",
                option="materialized",
            )
        return root
    if not spec.keys:
        if isinstance(stored, Table):
            return root
        row = f"the row of each {', '.join(traits.keys)}" if traits.keys else "its only row"
        key = f"config(key={_written(traits.keys)})" if traits.keys else _FIXED.format(option)
        name = f"{stored.stored_as} '{stored.stored_name(spec.name)}'"
        builder.problem(
            "MS518",
            f"{name} gets {row} again when it changes, but has no key",
            f"{'say ' if traits.keys else ''}{key}: a reader keeps the newest row per key",
            option="materialized",
        )
        return root
    problem = _once_only(builder, root, traits)
    if problem is None and not _same(spec.keys, traits.keys):
        problem = _mixes(builder, root, spec.keys, traits.keys)
    if problem is not None:
        each = f"there is one for each {', '.join(traits.keys)}" if traits.keys else "there is only one"
        because = f"; {problem}" if problem else ""
        all_of_them = f"use the columns themselves: config({option}={_written(traits.keys)})"
        builder.problem(
            "MS518",
            f"{option} {', '.join(spec.keys)} does not tell these rows apart: {each}{because}",
            all_of_them if traits.keys else _FIXED.format(option),
            option=option,
        )
        return root
    if _same(spec.keys, traits.keys):
        return root
    if isinstance(root, Project):
        return builder.made(replace(root, keys=spec.keys), None)
    project = Project(
        input=root, items=tuple(kept(root)), keys=spec.keys, label=root.label, models=root.models
    )
    return builder.made(project, None)


_FIXED = "select a fixed text as its key: select 'all' as id, … and config({}='id')"


def _written(keys: tuple[str, ...]) -> str:
    """Return columns as an option names them."""
    quoted = ", ".join(f"'{key}'" for key in keys)
    return quoted if len(keys) == 1 else f"[{quoted}]"


def _once_only(builder: Builder, root: Node, traits: Traits) -> str | None:
    """Return what is wrong with the key of records where it is one local time; None if nothing is."""
    if (
        not isinstance(builder.spec.materialization, Sink)
        or len(builder.spec.keys) != 1
        or builder.around.fixed_offset
    ):
        return None
    (key,) = builder.spec.keys
    if root.column(key).type != TIMESTAMP:
        return None
    # A record's key is text, and a time as text is local.
    text = Expression(("cast(", Ref(key), " as string)"), STRING)
    found = determined(text, known_columns(root, traits), fixed_offset=False)
    return (found.why and f"{found.why} in {builder.around.zone}") or None


def _same(keys: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return {key.lower() for key in keys} == {key.lower() for key in others}


def _mixes(builder: Builder, root: Node, keys: tuple[str, ...], wanted: tuple[str, ...]) -> str | None:
    """Return why keys do not tell rows apart, "" where their columns say it; None if they do.

    They are made of exactly what tells rows apart where they come from: all of it, and nothing else.
    """
    found = root.columns
    expressions = {
        key.lower(): column(c.name, c.type, nullable=c.nullable)
        for key in (*keys, *wanted)
        for c in found
        if c.name.lower() == key.lower()
    }
    node = root
    while True:
        match node:
            case Project():
                if node.keys and not _same(node.keys, keys):
                    return _covers(builder, node, expressions, keys, {key.lower() for key in node.keys})
                by = {item.name: item.expression for item in node.items}
                if not all(can_substitute(each, by) for each in expressions.values()):
                    return ""
                expressions = {name: substitute(each, by) for name, each in expressions.items()}
            case Lookup() if node.kind in {"left", "inner"}:
                names = {j.name: j.source for j in node.joined if j.side == "left"}
                read = {name for each in expressions.values() for name in each.columns}
                if not read <= set(names):
                    return ""
                by = {
                    c.name: column(names[c.name], c.type, nullable=c.nullable)
                    for c in node.columns
                    if c.name in names
                }
                expressions = {name: substitute(each, by) for name, each in expressions.items()}
            case Filter() | Repartition() | Watermark():
                pass
            case Aggregate():
                return _covers(builder, node, expressions, keys, {key.name.lower() for key in node.keys})
            case _:
                upstream = {
                    each.column.lower() for key in wanted if (each := expressions[key.lower()]).column
                }
                return _covers(builder, node, expressions, keys, upstream)
        (node, *_) = node.inputs


def _covers(
    builder: Builder,
    node: Node,
    expressions: dict[str, Expression],
    keys: tuple[str, ...],
    wanted: set[str],
) -> str | None:
    """Return what is lost of the columns that tell rows apart; None if they are read, and no others."""
    read: set[str] = set()
    told: set[str] = set()
    reasons: list[str] = []
    known = known_columns(node, builder.traits.of(node))
    for key in keys:
        expression = expressions[key.lower()]
        value = determined(
            expression,
            known,
            fixed_offset=builder.around.fixed_offset,
            never_null=key.lower() in _never_null(builder),
        )
        read |= expression.folded
        told |= value.columns
        if value.why and expression.columns:
            reasons.append(value.why)
    if read == wanted == told:
        return None
    return next(iter(reasons), "") if read == wanted else ""


def _never_null(builder: Builder) -> set[str]:
    """Return the columns without which a row is not stored: a data test says so."""
    found: set[str] = set()
    for check in (*builder.spec.checks, *builder.spec.promised):
        match check.wrong.pieces:
            case (Ref() as ref, " is null") if check.severity != "warn":
                found.add(ref.column.lower())
    return found
