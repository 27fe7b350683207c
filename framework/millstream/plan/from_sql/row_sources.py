"""Builds the nodes of sources that have rows: the scan, derived columns, watermark."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.core.types import BIGINT
from millstream.plan.from_sql.catalog import RowSpec
from millstream.plan.nodes import Column, Item, Node, Project, SourceScan, TableScan, Watermark


def row_source_node(source: RowSpec) -> Node:
    """Return a source as its readers see it, with metadata columns at the end."""
    derived = dict(source.derived)
    read = tuple(column for column in source.columns if column.name not in derived)
    node: Node = SourceScan(
        relation=source.id,
        kind=source.kind,
        settings=source.settings,
        columns=(*read, *source.metadata),
        keys=source.unique_by,
        removes_read=source.removes_read,
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


POSITION = Column("_position", BIGINT, nullable=False)
"""The order in which the rows of a key came, since those of a batch are in none."""


def changing_rows(source: RowSpec) -> Node:
    """Return the changes of a source whose rows change, with `POSITION`, for the table of its newest rows."""
    return row_source_node(replace(source, metadata=(*source.metadata, POSITION)))


def newest_rows(source: RowSpec, *, at_rest: bool) -> TableScan:
    """Return the table with the newest rows of a source whose rows change, as it is or as it changes."""
    return TableScan(
        relation=source.id,
        columns=source.columns,
        changes=not at_rest,
        keys=() if at_rest else source.unique_by,
        label=source.name,
    )


def rows_of(source: RowSpec) -> Node:
    """Return the stream of a source: its rows as they come, or the changes of the table of its rows."""
    return newest_rows(source, at_rest=False) if source.unique_by else row_source_node(source)
