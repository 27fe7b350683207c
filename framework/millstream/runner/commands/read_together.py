"""Which queries of a build read a topic together (see `queries.shared_reads`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import SparkSession

from millstream.kafka.logs import existing_logs
from millstream.physical.values import Query, ToKafka
from millstream.runner.queries.shared_reads import SharedRead
from millstream.runner.unread import unread
from millstream.runner.values import Job

ENOUGH = 100_000
"""From so many records on, a second read costs more than queries lose that wait for each other."""


def pairs(queries: Sequence[Query], waits: Mapping[str, frozenset[str]]) -> list[SharedRead]:
    """Return the queries that can read a topic together: a host waits for no more than its guest."""
    found: list[SharedRead] = []
    for guest in filter(_can_be_guest, queries):
        (source,) = guest.sources
        taken = {pair.host for pair in found}
        hosts = [
            each.name
            for each in queries
            if _can_be_host(each, source.relation)
            and waits[each.name] <= waits[guest.name]
            and each.name not in taken
        ]
        if hosts:
            found.append(SharedRead(source.topic, hosts[0], guest.name))
    return found


def _can_be_guest(query: Query) -> bool:
    sends = isinstance(query.deliver, ToKafka) and not query.signature.stateful
    return sends and len(query.sources) == 1 and bool(query.sources[0].topic)


def _can_be_host(query: Query, relation: str) -> bool:
    return query.signature.stateful and [each.relation for each in query.sources].count(relation) == 1


def side_by_side(queries: Iterable[Query], shared: Iterable[SharedRead]) -> list[Query]:
    """Return queries in an order in which a host starts together with its guest, which waits for it."""
    hosts = {pair.guest: pair.host for pair in shared}
    named = {query.name: query for query in queries}
    ordered: list[Query] = []
    for name, query in named.items():
        if name not in hosts.values():
            ordered.append(query)
            if name in hosts:
                ordered.append(named[hosts[name]])
    return ordered


def is_worth_it(job: Job, guest: Query, spark: SparkSession) -> bool:
    """Whether there is enough to read, and all cores have a part of it: two reads have twice the tasks."""
    topic = guest.sources[0].topic
    logs = existing_logs(job.project, {topic})
    partitions = 0 if logs is None else len(logs.topics.get(topic, ()))
    return partitions >= spark.sparkContext.defaultParallelism and unread(job, [guest]) >= ENOUGH
