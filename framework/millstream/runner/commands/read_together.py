"""Which queries of a build read a topic together (see `queries.shared_reads`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyspark.sql import SparkSession

from millstream.deploy.backlog import count_unread
from millstream.deploy.values import Job
from millstream.engine.queries.shared_reads import SharedRead
from millstream.kafka.logs import existing_logs
from millstream.queries.values import Query, ToKafka

ENOUGH = 100_000
"""From so many records on, a second read costs more than queries lose that wait for each other."""
Waits = dict[str, frozenset[str]]
"""The queries after which each query runs, by their names."""


def shared_reads(job: Job, queries: Sequence[Query], spark: SparkSession) -> list[SharedRead]:
    """Return the pairs of queries that could share the read of a topic, where that is worth it."""
    if job.catalog.target.get("grouping") == "off" or job.project.target.settings.get("fast_paths") == "off":
        return []
    cores = spark.sparkContext.defaultParallelism
    return [
        SharedRead(read.stream, host.name, guest.name, headers=read.headers)
        for guest, host in _pairs(queries)
        for read in guest.topic_reads
        if is_worth_it(job, guest, cores)
    ]


def _pairs(queries: Sequence[Query]) -> Iterator[tuple[Query, Query]]:
    hosts = [query for query in queries if query.signature.stateful]
    for guest in filter(_can_be_guest, queries):
        (source,) = guest.topic_reads
        for host in hosts:
            # A topic can have several names.
            if [read.relation for read in host.topic_reads if read.topics == source.topics] == [
                source.relation
            ]:
                hosts.remove(host)
                yield guest, host
                break


def _can_be_guest(query: Query) -> bool:
    sends = isinstance(query.deliver, ToKafka) and not query.signature.stateful
    alone = len(query.sources) == len(query.topic_reads) == len(query.topics_read) == 1
    # The first batch of a history is all that a query reads of it.
    return sends and alone and not query.topic_reads[0].history


def is_worth_it(job: Job, guest: Query, cores: int) -> bool:
    """Whether there is enough to read, and all cores have a part of it: two reads have twice the tasks."""
    if count_unread(job, [guest]) < ENOUGH:
        return False
    (topic,) = guest.topics_read
    logs = existing_logs(job.project, {topic})
    return logs is not None and len(logs.topics[topic]) >= cores


def side_by_side(
    queries: Iterable[Query], waits: Mapping[str, frozenset[str]], candidates: Iterable[SharedRead]
) -> tuple[list[Query], Waits, list[SharedRead]]:
    """Let a host and its guest start together, after all that both wait for.

    Return queries in their order, what they wait for, and the pairs that don't wait for each other so.
    """
    after = dict(waits)
    pairs: list[SharedRead] = []
    for pair in candidates:
        both = after[pair.host] | after[pair.guest]
        if not {pair.host, pair.guest} & _all_before(both, after):
            after[pair.host] = after[pair.guest] = both
            pairs.append(pair)
    hosts = {pair.guest: pair.host for pair in pairs}
    named = {query.name: query for query in queries}
    alone = [name for name in named if name not in hosts.values()]
    names = [query_name for name in alone for query_name in (name, hosts.get(name)) if query_name is not None]
    return [named[name] for name in names], after, pairs


def _all_before(names: frozenset[str], after: Mapping[str, frozenset[str]]) -> set[str]:
    earlier: set[str] = set()
    left = list(names)
    while left:
        if (name := left.pop()) not in earlier:
            earlier.add(name)
            left += after.get(name, ())
    return earlier
