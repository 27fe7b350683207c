"""Columns that a filter has checked for NULL."""

from __future__ import annotations

from millstream.plan.nodes import Aggregate, Filter, Lookup, Node, Project, Repartition, Watermark
from millstream.sql.trees import column_that_is_known


def non_null_columns(node: Node) -> frozenset[str]:
    """Return the columns, in lower case, with a condition `is not null` below."""
    columns: set[str] = set()
    names = {name.lower(): name.lower() for name in node.names}
    """By the name at the current node."""
    while True:
        match node:
            case Filter():
                for condition in node.conditions:
                    column = column_that_is_known(condition)
                    if column is not None and column.lower() in names:
                        columns.add(names[column.lower()])
            case Project():
                names = _renamed(names, {item.name: item.expression.column for item in node.items})
            case Aggregate():
                names = _renamed(names, {key.name: key.expression.column for key in node.keys})
            case Lookup() if node.kind in {"left", "inner", "semi", "anti"}:
                names = _renamed(names, {j.name: j.source for j in node.joined if j.side == "left"})
            case Repartition() | Watermark():
                pass
            case _:
                return frozenset(columns)
        (node, *_) = node.inputs


def _renamed(names: dict[str, str], sources: dict[str, str | None]) -> dict[str, str]:
    return {
        source.lower(): names[name.lower()]
        for name, source in sources.items()
        if source is not None and name.lower() in names
    }
