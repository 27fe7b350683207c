"""Who would count rows twice when a query is made anew, and sends them again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from millstream.physical.values import Query, SinkOutput


class Twice(NamedTuple):
    writer: Query
    reader: Query
    model: str
    """Whose rows these are."""


def counted_twice(anew: Iterable[Query], queries: Collection[Query]) -> Iterator[Twice]:
    """Give the queries with state that read what others send again, though they go on from where they are."""
    anew = list(anew)
    names = {query.name for query in anew}
    for query in anew:
        sent = {t.model for t in query.outputs if isinstance(t, SinkOutput)}
        if query.output_mode != "append" or not sent:
            continue
        for reader in queries:
            read = sent.intersection(each.relation for each in reader.sources)
            if read and reader.signature.stateful and reader.name not in names:
                yield Twice(query, reader, min(read))


def with_readers(anew: Iterable[Query], queries: Collection[Query]) -> dict[str, tuple[Query, str]]:
    """Return the queries that must be made anew with some others, by name, and the model that says so."""
    found = list(anew)
    more: dict[str, tuple[Query, str]] = {}
    while twice := next(counted_twice(found, queries), None):
        found.append(twice.reader)
        more[twice.reader.name] = (twice.reader, twice.model)
    return more
