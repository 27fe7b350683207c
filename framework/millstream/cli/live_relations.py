"""The relations of the live page, and how their newest rows are read, without a JVM."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

from millstream.cli.latest_records import newest_rows
from millstream.compile.manifest import ManifestNode
from millstream.core.node_id import NodeId
from millstream.kafka.clients import Admin
from millstream.kafka.registry.writers import Writers
from millstream.kafka.topic_decoding import TopicDecoding
from millstream.kafka.topic_names import topic_decodings
from millstream.ops.live_page.values import LiveRelation
from millstream.plan.nodes.leaves import topics_text
from millstream.project.values import Project
from millstream.stores.query import StoredProject, run_query
from millstream.stores.tables.relations import StoredRelation, relations_in
from millstream.stores.tables.values import Answer

_MOST = 24
"""The page shows no more relations."""


def live_relations(
    project: Project, nodes: dict[NodeId, ManifestNode], admin: Admin, writers: Writers
) -> list[LiveRelation]:
    """Return the tables and topics that models store, and then the topics of sources."""
    relations = relations_in(nodes.values())
    readings = topic_decodings(project, nodes)
    stored = StoredProject(Path(project.root), project.target, relations, lambda: project.seeds)
    live = []
    for kind in ("model", "source"):
        for node in nodes.values():
            relation = relations.get(node.id.name.lower())
            if node.kind != kind or relation is None:
                continue
            about = node.description.split("\n")[0]
            if relation.kind == "table":
                read = partial(_newest_of_table, relation, stored)
                live.append(LiveRelation(node.id, node.name, "table", about, read))
            elif (reading := readings.get(relation.name)) is not None:
                # The key of a model's record is in its row.
                without = {"_timestamp"} if kind == "source" else {"_timestamp", "_key"}
                read = partial(_newest_of_topic, admin, reading, writers, without)
                live.append(LiveRelation(node.id, node.name, topics_text(reading.topics), about, read))
    return live[:_MOST]


def _newest_of_table(table: StoredRelation, stored: StoredProject, limit: int) -> Answer:
    names = [name for name, _ in table.columns]
    order = _order(table)
    by = ", ".join(f'"{name}"{" desc" if name not in order[1:] else ""}' for name in order)
    columns = ", ".join(f'"{name}"' for name in names)
    sql = f"select {columns} from {table.name}{f' order by {by}' if by else ''}"  # noqa: S608 - of the project
    return run_query(sql, stored, limit)


def _order(table: StoredRelation) -> Sequence[str]:
    """Return the column that says how new a row is, and the key after it, if there is one."""
    names = {name.lower(): name for name, _ in table.columns}
    times = [name for name, type_ in table.columns if type_.startswith(("timestamp", "date"))]
    key = table.options.get("unique_key") or ()
    keys = [
        names[column.lower()]
        for column in ([key] if isinstance(key, str) else key)
        if column.lower() in names
    ]
    order = table.options.get("order_by")
    first = names.get(order.lower()) if isinstance(order, str) else times[-1] if times else None
    return [first, *(column for column in keys if column != first)] if first else []


def _newest_of_topic(
    admin: Admin, reading: TopicDecoding, writers: Writers, without: Collection[str], limit: int
) -> Answer:
    newest = newest_rows(admin, reading, limit, writers)
    indexes = [index for index, name in enumerate(newest.columns) if name not in without]
    rows = [tuple(row[index] for index in indexes) for row in newest.rows]
    return Answer(tuple(newest.columns[index] for index in indexes), rows)
