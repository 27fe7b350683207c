"""Reference topics become tables of their newest rows, each written by its own query.

Reading the complete topic in every batch would cost more with every record in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.core.node_id import NodeId
from millstream.outputs.kinds import Table
from millstream.plan.from_sql.catalog import TopicSpec
from millstream.plan.from_sql.topics import topic_node
from millstream.plan.from_sql.versions import topic_versions
from millstream.plan.nodes import Output, Plan, Watermark


def reference_outputs(plan: Plan, topics: Mapping[NodeId, TopicSpec]) -> tuple[Output, ...]:
    """Return a table for each reference topic that a model looks up, with all columns of the topic."""
    return tuple(_table(topics[relation]) for relation in plan.tables if relation in topics)


def _table(topic: TopicSpec) -> Output:
    node = topic_versions(topic) if topic.versions else topic_node(topic, metadata=())
    return Output(
        input=node.input if isinstance(node, Watermark) else node,  # a row of a table is never late
        model=topic.id,
        materialization=Table(unique_key=topic.unique_by, versions=topic.versions or None),
        options={"group": topic.name},
        label=topic.name,
        models=(topic.id,),
    )
