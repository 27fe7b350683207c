"""Whether the key of a topic or table tells the rows of its model apart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from millstream.expressions import Expression, can_substitute, column, substitute
from millstream.plan.build.scope import kept
from millstream.plan.nodes import Aggregate, Filter, Lookup, Node, Project, Repartition, Watermark

if TYPE_CHECKING:
    from millstream.plan.build.model import ModelBuilder

_NAMES = """
array base64 bigint binary cast concat concat_ws date_format decimal format_string from_json hex int map md5
named_struct sha sha1 sha2 string struct to_binary to_char to_json unix_micros unix_millis unix_seconds
"""
_KEEPS_APART = frozenset(_NAMES.split())
"""Functions whose results differ where their arguments do, for all that a key is used for."""


def checked_keys(builder: ModelBuilder, root: Node) -> Node:
    """Return the model's relation with the keys of its output; what is wrong with them is reported."""
    spec = builder.spec
    if spec.kind == "view":
        return root
    option = "key" if spec.kind == "sink" else "unique_key"
    known = {name.lower(): name for name in root.names}
    for key in spec.keys:
        if key.lower() not in known:
            return root  # told by who knows near names
    traits = builder.traits.of(root)
    if traits.mode != "upsert":
        if spec.kind == "table" and not spec.keys:
            builder.problem(
                "MS518",
                f"table '{spec.name}' does not say which rows replace each other",
                "name the columns that tell rows apart: config(unique_key='…')",
                option="materialized",
            )
        return root
    if not spec.keys:
        if spec.kind == "table":
            return root
        row = f"the row of each {', '.join(traits.keys)}" if traits.keys else "its only row"
        key = (
            f"config(key='{traits.keys[0]}')" if traits.keys else "select 'all' as id, … and config(key='id')"
        )
        builder.problem(
            "MS518",
            f"topic '{spec.topic}' gets {row} again when it changes, but has no key",
            f"say {key}: a reader keeps the newest per key",
            option="materialized",
        )
        return root
    if _same(spec.keys, traits.keys):
        return root
    if not _tells_apart(root, spec.keys, traits.keys):
        each = f"there is one for each {', '.join(traits.keys)}" if traits.keys else "there is only one"
        of_all = f"make the key of all of them, as concat({', '.join(traits.keys)}) does, and of nothing else"
        builder.problem(
            "MS518",
            f"{option} {', '.join(spec.keys)} does not tell these rows apart: {each}",
            of_all if traits.keys else f"select a fixed text as its key: select 'all' as id, … {option}='id'",
            option=option,
        )
        return root
    if isinstance(root, Project):
        return builder.made(replace(root, keys=spec.keys), None)
    project = Project(
        input=root, items=tuple(kept(root)), keys=spec.keys, label=root.label, models=root.models
    )
    return builder.made(project, None)


def _same(keys: tuple[str, ...], others: tuple[str, ...]) -> bool:
    return {key.lower() for key in keys} == {key.lower() for key in others}


def _tells_apart(root: Node, keys: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Tell whether keys are made of exactly what tells rows apart where they come from."""
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
                by = {item.name: item.expression for item in node.items}
                if not all(can_substitute(each, by) for each in expressions.values()):
                    return False
                expressions = {name: substitute(each, by) for name, each in expressions.items()}
                if node.keys and set(node.keys) != set(keys):
                    return _covers(expressions, keys, {key.lower() for key in node.keys})
            case Lookup() if node.kind in {"left", "inner"}:
                names = {j.name: j.source for j in node.joined if j.side == "left"}
                read = {name for each in expressions.values() for name in each.columns}
                if not read <= set(names):
                    return False
                by = {
                    c.name: column(names[c.name], c.type, nullable=c.nullable)
                    for c in node.columns
                    if c.name in names
                }
                expressions = {name: substitute(each, by) for name, each in expressions.items()}
            case Filter() | Repartition() | Watermark():
                pass
            case Aggregate():
                return _covers(expressions, keys, {key.name.lower() for key in node.keys})
            case _:
                upstream = {
                    each.column.lower() for key in wanted if (each := expressions[key.lower()]).column
                }
                return _covers(expressions, keys, upstream)
        (node, *_) = node.inputs


def _covers(expressions: dict[str, Expression], keys: tuple[str, ...], wanted: set[str]) -> bool:
    """Tell whether the keys read all columns that tell rows apart, no others, and lose nothing of them."""
    read: set[str] = set()
    for key in keys:
        expression = expressions[key.lower()]
        if not expression.deterministic or not _keeps_apart(expression):
            return False
        read |= {name.lower() for name in expression.columns}
    return read == wanted


def _keeps_apart(expression: Expression) -> bool:
    text = "".join(piece for piece in expression.pieces if isinstance(piece, str))
    calls = {name.lower() for name in re.findall(r"(\w+)\(", text)}
    plain = re.sub(r"'(?:[^'\\]|\\.)*'", "", text)
    return calls <= _KEEPS_APART and not re.search(r"[+*/%<>=]| - | case | div ", f" {plain} ")
