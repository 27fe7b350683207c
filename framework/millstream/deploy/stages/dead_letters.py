"""Sends exactly one dead letter for each record that a source can't decode, whichever query sends it.

Models are added and removed, and so another query may send a source's dead letters. A file next to the
checkpoints stores up to which offsets they were sent. A query that begins before these offsets skips dead
letters; if it begins after them, the missing ones are sent first, except those that the topic already holds.
"""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace
from pyspark.sql import DataFrame

from millstream.deploy.checkpoints.dead_letter_offsets import (
    SentDeadLetters,
    later,
    progress,
    read,
    settled,
    write,
)
from millstream.deploy.engine import Engine
from millstream.deploy.planning.intents import may_rebuild
from millstream.deploy.planning.records import Offsets, Record
from millstream.deploy.stages import dead_letter_filter as unsent
from millstream.deploy.values import Setup
from millstream.engine.queries.start import QueryContext, run_once
from millstream.queries.topology import dead_letters_query_of
from millstream.queries.values import Query, TopicRead
from millstream.sources.topic import spark as topic_reads
from millstream.sources.topic.positions import topic_range


def with_dead_letters(running: Engine, query: Query, record: Record, context: QueryContext) -> QueryContext:
    """Return a context in which a query sends only the dead letters that were not sent before."""
    source = next(
        (source for source in query.topic_reads if source.relation == query.dead_letter_source), None
    )
    if source is None:
        return context
    files, folder, spark = running.files, running.checkpoints.rstrip("/"), context.checkpoint
    done, again = progress(files, spark, source.topic)
    starts = _begins(running, source) if done is None else done
    columns = source.deciding
    sent = _sent_before(running, source, record) or SentDeadLetters(source.topic, starts, columns, starts)
    sent = settled(files, folder, sent)
    due, readers = later(starts, again), _readers(running, source)
    # Records that are read again may be bad in a column that was not read before.
    again_read = may_rebuild(running.job.intent) or not set(readers) <= set(sent.readers)
    recheck = again_read and not set(columns) <= set(sent.columns)
    since, upto = sent.began if recheck else sent.upto, later(sent.upto, due)
    ranges = {n: (min(since.get(n, 0), stop), stop) for n, stop in (upto if recheck else due).items()}
    if late := any(stop > start for start, stop in ranges.values()):
        _send(running, source, ranges, {} if recheck else sent.end)
    now = replace(
        sent,
        id=record.ids.get(source.topic, ""),
        upto=upto,
        columns=columns if recheck else tuple(column for column in sent.columns if column in columns),
        readers=readers,
        checkpoint=spark.removeprefix(f"{folder}/"),
        end=running.kafka.held([_topic_of(query)])[_topic_of(query)],
    )
    write(files, folder, source.relation, now)
    if late and done is None and not again:
        context = _from(context, source, starts)
    if any(offset > starts.get(n, 0) for n, offset in upto.items()):
        remove_sent = partial(
            unsent.from_offsets, source=source.relation, topic=_topic_of(query), starts=upto
        )
        context = replace(context, without_sent=remove_sent)
    return context


def _begins(running: Engine, source: TopicRead) -> Offsets:
    """Return the offsets at which a new query begins to read a topic."""
    ends = running.kafka.held([source.topic])[source.topic]
    ranges = running.kafka.until(source.topic, running.topic_options(source), ends)
    return {n: first for n, (first, _) in ranges.items()}


def _sent_before(running: Engine, source: TopicRead, record: Record) -> SentDeadLetters | None:
    sent = read(running.files, running.checkpoints, source.relation)
    if sent is None or sent.topic != source.topic:
        return None
    id_ = record.ids.get(source.topic, "")
    return None if sent.id and id_ and sent.id != id_ else sent


def _readers(running: Engine, source: TopicRead) -> tuple[str, ...]:
    """Return the checkpoints and models that read a source; a query that never ran is given by name."""
    readers: list[str] = []
    for query in running.job.physical.queries:
        if any(read.relation == source.relation for read in query.sources):
            record = running.record(query)
            readers += [query.name] if record is None else [f"{record.id}/{m}" for m in record.outputs or ()]
    return tuple(sorted(readers))


def _send(running: Engine, source: TopicRead, ranges: topic_reads.Ranges, since: Offsets) -> None:
    """Send the dead letters of some records, except those that the dead letter topic already holds."""
    query = dead_letters_query_of(running.job.topology, source.relation)
    topic = _topic_of(query)
    name = f"dead letters of {source.relation.rpartition('.')[2]}"
    running.tell(Setup(name))
    context = running.context_of(query, f"{query.name}/{source.topic}")
    if context.stores.exactly_once is not None:
        context.stores.exactly_once.end_earlier()
    before = running.kafka.held([topic])[topic]
    held = running.kafka.until(topic, {"began": since}, before)
    options = running.kafka.source(topic, {})

    def without_sent(rows: DataFrame) -> DataFrame:
        dead_letters = TopicRead("_letters", "", topic, headers=True)
        topic_reads.bounded(rows.sparkSession, dead_letters, options, held)
        return unsent.not_among(rows, rows.sparkSession.table("_letters"), source.relation)

    available = running.kafka.until(source.topic, {}, {n: stop for n, (_, stop) in ranges.items()})
    unsent_ranges = {
        n: (min(max(first, ranges[n][0]), stop), stop)
        for n, (first, stop) in available.items()
        if n in ranges
    }
    run_once(
        running.spark,
        query,
        replace(context, without_sent=without_sent),
        {source.topic: topic_range(unsent_ranges)},
    )
    count = sum(running.kafka.held([topic])[topic].values()) - sum(before.values())
    running.tell(Setup(name, f"{count:,} sent", done=True))


def _from(context: QueryContext, source: TopicRead, starts: Offsets) -> QueryContext:
    """Let a query begin exactly where the sent dead letters end."""
    options = context.sources[source.relation]
    source_options = {name: value for name, value in options.items() if not name.startswith("starting")}
    source_options["startingOffsets"] = topic_reads.offsets_of({source.topic: starts})
    return replace(context, sources={**context.sources, source.relation: source_options})


def _topic_of(query: Query) -> str:
    return next(o.topic for o in query.dead_letters if o.source == query.dead_letter_source)
