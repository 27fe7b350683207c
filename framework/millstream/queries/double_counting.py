"""Which queries would count rows twice when another query is rebuilt and sends them again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from millstream.core.node_id import NodeId
from millstream.queries.values import Query


class DoubleCount(NamedTuple):
    writer: Query
    reader: Query
    model: NodeId
    """The model that writes these rows."""


def counted_twice(rebuilt: Iterable[Query], queries: Collection[Query]) -> Iterator[DoubleCount]:
    """Yield queries that keep their state, but read topics to which a rebuilt query sends its rows again."""
    rebuilt = list(rebuilt)
    names = {query.name for query in rebuilt}
    for query in rebuilt:
        sent = {sink.model for sink in query.sinks}
        if query.output_mode != "append" or not sent:
            continue
        for reader in queries:
            read = sent.intersection(source.relation for source in reader.sources)
            if read and reader.signature.stateful and reader.name not in names:
                yield DoubleCount(query, reader, min(read))


def with_readers(rebuilt: Iterable[Query], queries: Collection[Query]) -> dict[str, tuple[Query, NodeId]]:
    """Return the queries that must be rebuilt as well, by name, with the model whose rows they read."""
    all_rebuilt = list(rebuilt)
    more: dict[str, tuple[Query, NodeId]] = {}
    while twice := next(counted_twice(all_rebuilt, queries), None):
        all_rebuilt.append(twice.reader)
        more[twice.reader.name] = (twice.reader, twice.model)
    return more
