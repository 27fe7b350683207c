"""Reference topics become tables of their newest rows, each kept by a query of its own.

Reading such a topic whole in every batch would cost more with every record that it ever got.
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.plan.from_sql.catalog import TopicSpec
from millstream.plan.from_sql.topics import topic_node
from millstream.plan.nodes import Output, Plan, TableScan, Watermark


def kept_references(plan: Plan, topics: Mapping[str, TopicSpec]) -> tuple[Output, ...]:
    """Return a table for each reference topic that is read at rest, with all columns of the topic."""
    return tuple(_table(topics[relation]) for relation in _at_rest(plan) if relation in topics)


def _at_rest(plan: Plan) -> tuple[str, ...]:
    """Return the relations that are read in their newest version, which are kept with the plan."""
    if (kept := plan.__dict__.get(_KEPT)) is not None:
        return kept  # type: ignore[no-any-return]  # written below
    read: dict[str, None] = {}
    for node in plan.order:
        if isinstance(node, TableScan) and not node.changes:
            read[node.relation] = None
        for expression in node.expressions:
            read.update(dict.fromkeys(expression.reads))
    plan.__dict__[_KEPT] = found = tuple(read)
    return found


_KEPT = "at_rest"


def _table(topic: TopicSpec) -> Output:
    node = topic_node(topic, metadata=())
    return Output(
        input=node.input if isinstance(node, Watermark) else node,  # a row of a table is never late
        model=topic.id,
        kind="table",
        keys=topic.unique_by,
        options={"group": topic.name},
        label=topic.name,
        models=(topic.id,),
    )
