"""Reference topics become tables of their newest rows, each written by its own query.

Reading the complete topic in every batch would cost more with every record in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.materialization import Table
from millstream.plan.from_sql.catalog import TopicSpec
from millstream.plan.from_sql.topics import topic_node
from millstream.plan.nodes import Output, Plan, TableScan, Watermark


def reference_outputs(plan: Plan, topics: Mapping[str, TopicSpec]) -> tuple[Output, ...]:
    """Return a table for each reference topic that a model looks up, with all columns of the topic."""
    return tuple(_table(topics[relation]) for relation in _at_rest(plan) if relation in topics)


def _at_rest(plan: Plan) -> tuple[str, ...]:
    """Return the relations that are read at rest; the result is cached in the plan."""
    if (cached := plan.__dict__.get(_CACHED)) is not None:
        return cached  # type: ignore[no-any-return]  # written below
    read: dict[str, None] = {}
    for node in plan.order:
        if isinstance(node, TableScan) and not node.changes:
            read[node.relation] = None
        for expression in node.expressions:
            read.update(dict.fromkeys(expression.reads))
    plan.__dict__[_CACHED] = found = tuple(read)
    return found


_CACHED = "at_rest"


def _table(topic: TopicSpec) -> Output:
    node = topic_node(topic, metadata=())
    return Output(
        input=node.input if isinstance(node, Watermark) else node,  # a row of a table is never late
        model=topic.id,
        materialization=Table(unique_key=topic.unique_by),
        options={"group": topic.name},
        label=topic.name,
        models=(topic.id,),
    )
