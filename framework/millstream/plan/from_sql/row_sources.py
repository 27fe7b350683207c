"""Builds the nodes of sources that have rows: the scan, derived columns, watermark."""

from __future__ import annotations

from millstream.plan.from_sql.catalog import RowSpec
from millstream.plan.nodes import Item, Node, Project, SourceScan, Watermark


def row_source_node(source: RowSpec) -> Node:
    """Return a source as its readers see it, with metadata columns at the end."""
    derived = dict(source.derived)
    read = tuple(column for column in source.columns if column.name not in derived)
    node: Node = SourceScan(
        relation=source.id,
        kind=source.kind,
        settings=source.settings,
        columns=(*read, *source.metadata),
        label=source.name,
    )
    if derived:
        plain = {column.name: column.expression for column in node.columns}
        names = [column.name for column in (*source.columns, *source.metadata)]
        node = Project(
            input=node,
            items=tuple(Item(name, derived.get(name) or plain[name]) for name in names),
            label=source.name,
        )
    if source.watermark:
        time, delay = source.watermark
        node = Watermark(input=node, time=time, delay=delay, label=source.name)
    return node
