"""Reference topics, and other sources whose rows change, become tables of their newest rows.

Each is written by its own query: reading the complete source in every batch would cost more each time.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.core.node_id import NodeId
from millstream.outputs.kinds import Table
from millstream.plan.from_sql.catalog import RowSpec, TopicSpec
from millstream.plan.from_sql.row_sources import POSITION, changing_rows
from millstream.plan.from_sql.topics import topic_node
from millstream.plan.from_sql.versions import topic_versions
from millstream.plan.nodes import Output, Plan, Watermark


def reference_outputs(plan: Plan, sources: Mapping[NodeId, TopicSpec | RowSpec]) -> tuple[Output, ...]:
    """Return a table for each reference source that a model reads, with all columns of the source."""
    return tuple(_table(sources[relation]) for relation in plan.tables if relation in sources)


def _table(source: TopicSpec | RowSpec) -> Output:
    match source:
        case RowSpec():
            node, table = changing_rows(source), Table(unique_key=source.unique_by, order_by=POSITION.name)
        case TopicSpec():
            node = topic_versions(source) if source.versions else topic_node(source, metadata=())
            table = Table(unique_key=source.unique_by, versions=source.versions or None)
    return Output(
        input=node.input if isinstance(node, Watermark) else node,  # a row of a table is never late
        model=source.id,
        materialization=table,
        options={"group": source.name},
        label=source.name,
        models=(source.id,),
    )
