"""Drops records of a topic that their sender sent again, by the headers of a sink's records."""

from __future__ import annotations

import re
from collections.abc import Collection

from millstream.expressions import Expression, Ref
from millstream.materialization import BATCH, POSITION
from millstream.plan.from_sql.scope import identity_items
from millstream.plan.nodes import METADATA, Dedupe, Item, Node, Project, Repartition
from millstream.types import BIGINT, STRING, Type

READ = ("_partition", "_headers")
"""The metadata that decides whether a record was sent before."""
_FROM, _OFFSET = "_sent_from", "_sent_offset"


def first_sent(node: Node, label: str, metadata: Collection[str]) -> Node:
    """Return a topic's rows without repeated ones, with only some of their metadata.

    A record repeats another one if it has the same sender and the same position. The sender is a query with
    its checkpoint, because a rebuild sends other records of the same positions.
    """
    position = _header(POSITION)
    sender = f"coalesce(regexp_extract({_header(BATCH)}, '^(.+)/[^/]*$', 1), '')"
    partition = f"regexp_extract({position}, '^(.+)-[0-9]+$', 1)"
    offset = f"try_cast(regexp_extract({position}, '^.+-[0-9]+-([0-9]+)$', 1) as bigint)"
    group = f"coalesce(concat({sender}, ' ', {partition}), cast(_partition as string))"
    added = (Item(_FROM, _expression(group, STRING)), Item(_OFFSET, _expression(offset, BIGINT)))
    columns = [item for item in identity_items(node) if item.name not in METADATA or item.name in metadata]
    placed = Project(input=node, items=(*identity_items(node), *added))
    keys = (_FROM, _OFFSET)
    first = Dedupe(input=Repartition(input=placed, keys=keys), keys=keys, by_position=True)
    return Project(input=first, items=tuple(columns), label=label)


def _header(name: str) -> str:
    """Return the text of the last header of this name."""
    found = f"filter(_headers, header -> header.key = '{name}')"
    return f"cast(try_element_at({found}, -1).value as string)"


def _expression(text: str, found: Type) -> Expression:
    parts = re.split(r"\b(_[a-z]+)\b", text)
    pieces = tuple(Ref(part) if part in METADATA else part for part in parts)
    return Expression(pieces, found, atomic=True, variables=frozenset({"header"}))
