"""Drops records of a topic that their sender sent again, by the headers of a sink's records."""

from __future__ import annotations

from collections.abc import Collection

from millstream.core.expressions import Expression, Ref
from millstream.core.types import BIGINT, STRING
from millstream.plan.from_sql.scope import identity_items
from millstream.plan.nodes import METADATA, Dedupe, Item, Node, Project, Repartition

READ = ("_partition", "_headers")
"""The metadata that decides whether a record was sent before."""
_FROM, _OFFSET = "_sent_from", "_sent_offset"
_HEADERS, _PARTITION = Ref("_headers"), Ref("_partition")


def first_sent(node: Node, label: str, metadata: Collection[str]) -> Node:
    """Return a topic's rows without repeated ones, with only some of their metadata.

    A record repeats another one if it has the same sender and the same position. The sender is a query with
    its checkpoint, because a rebuild sends other records of the same positions.
    """
    # A record without a position has no offset, and is grouped by its own partition.
    sent_from = ("coalesce(sent_from(", _HEADERS, "), cast(", _PARTITION, " as string))")
    added = (
        Item(_FROM, Expression(sent_from, STRING, nullable=False, atomic=True)),
        Item(_OFFSET, Expression(("sent_offset(", _HEADERS, ")"), BIGINT, atomic=True)),
    )
    columns = [item for item in identity_items(node) if item.name not in METADATA or item.name in metadata]
    placed = Project(input=node, items=(*identity_items(node), *added))
    keys = (_FROM, _OFFSET)
    first = Dedupe(input=Repartition(input=placed, keys=keys), keys=keys, by_position=True)
    return Project(input=first, items=tuple(columns), label=label)
