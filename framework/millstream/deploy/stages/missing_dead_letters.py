"""Sends exactly one dead letter for each record that a source can't decode, whichever query sends it.

Models are added and removed, and so another query may send a source's dead letters. A file next to the
checkpoints stores up to which offsets they were sent. A query that begins before these offsets skips dead
letters; if it begins after them, the missing ones are sent first, except those that the topic already holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace
from pyspark.sql import DataFrame

from millstream.core.node_id import NO_NODE
from millstream.deploy.checkpoints.dead_letter_offsets import (
    SentDeadLetters,
    later_offsets,
    query_progress,
    read_sent,
    settle_sent,
    write_sent,
)
from millstream.deploy.engine import Engine
from millstream.deploy.planning.intents import may_rebuild
from millstream.deploy.planning.records import Offsets, QueryRecord
from millstream.deploy.stages import dead_letter_filter as unsent
from millstream.deploy.values import SetupStep
from millstream.engine.queries.start import QueryContext, run_once
from millstream.queries.topology import dead_letters_query_of
from millstream.queries.values import Query, TopicRead
from millstream.sources.topic import spark as topic_reads
from millstream.sources.topic.positions import topic_range


def with_dead_letters(
    engine: Engine, query: Query, record: QueryRecord, context: QueryContext
) -> QueryContext:
    """Return a context in which a query sends only the dead letters that were not sent before."""
    if query.dead_letter_source and query.source_reads:
        return _without_lines(engine, query, context)
    read = next((source for source in query.topic_reads if source.relation == query.dead_letter_source), None)
    if read is None:
        return context
    spark = context.checkpoint
    progress = {topic: query_progress(engine.files, spark, topic) for topic in read.topics}
    starts = {
        topic: _begins(engine, read, topic, record) if done is None else done
        for topic, (done, _) in progress.items()
    }
    sent = {
        topic: _send_missing(engine, query, read, record, spark, topic, starts[topic], again)
        for topic, (_, again) in progress.items()
    }
    is_new = all(done is None and not again for done, again in progress.values())
    if is_new and any(late for _, late in sent.values()):
        context = _from(context, read, starts)
    upto = {topic: sent_of_topic.upto for topic, (sent_of_topic, _) in sent.items()}
    if any(offset > starts[topic].get(n, 0) for topic in upto for n, offset in upto[topic].items()):
        remove_sent = partial(unsent.from_offsets, source=read.relation, topic=_topic_of(query), starts=upto)
        context = replace(context, without_sent=remove_sent)
    return context


def _without_lines(engine: Engine, query: Query, context: QueryContext) -> QueryContext:
    """Return a context in which lines of files are not sent that the dead letter topic has by now.

    A query that starts over reads them again, and there are too few to note which of them were sent.
    """
    topic = _topic_of(query)
    held = engine.kafka.until(topic, {}, engine.kafka.held([topic])[topic])
    if not any(stop > first for first, stop in held.values()):
        return context
    options = engine.kafka.source([topic], {})

    def without_sent(rows: DataFrame) -> DataFrame:
        sent = TopicRead("_letters", NO_NODE, (topic,), headers=True)
        topic_reads.read_ranges(rows.sparkSession, sent, options, {topic: held})
        table = rows.sparkSession.table("_letters")
        return unsent.lines_not_among(rows, table, query.dead_letter_source)

    return replace(context, without_sent=without_sent)


def _send_missing(
    engine: Engine,
    query: Query,
    read: TopicRead,
    record: QueryRecord,
    spark: str,
    topic: str,
    starts: Offsets,
    again: Offsets,
) -> tuple[SentDeadLetters, bool]:
    """Send the dead letters of a topic's records before the query begins, and record up to where they were.

    Also return whether there were such records.
    """
    files, folder, columns = engine.files, engine.checkpoints.rstrip("/"), read.deciding
    sent = _sent_before(engine, read, topic, record) or SentDeadLetters(topic, starts, columns, starts)
    sent = settle_sent(files, folder, sent)
    due, readers = later_offsets(starts, again), _readers(engine, read)
    # Records that are read again may be bad in a column that was not read before.
    again_read = may_rebuild(engine.job.intent) or not set(readers) <= set(sent.readers)
    recheck = again_read and not set(columns) <= set(sent.columns)
    since, upto = sent.began if recheck else sent.upto, later_offsets(sent.upto, due)
    ranges = {n: (min(since.get(n, 0), stop), stop) for n, stop in (upto if recheck else due).items()}
    if late := any(stop > start for start, stop in ranges.values()):
        _send(engine, read, topic, ranges, {} if recheck else sent.end)
    now = replace(
        sent,
        id=record.ids.get(topic, ""),
        upto=upto,
        columns=columns if recheck else tuple(column for column in sent.columns if column in columns),
        readers=readers,
        checkpoint=spark.removeprefix(f"{folder}/"),
        end=engine.kafka.held([_topic_of(query)])[_topic_of(query)],
    )
    write_sent(files, folder, read.relation, now, alone=len(read.topics) == 1)
    return now, late


def _begins(engine: Engine, source: TopicRead, topic: str, record: QueryRecord) -> Offsets:
    """Return the offsets at which a new query begins to read a topic."""
    if (history := record.histories.get(topic)) is not None:
        return history.offsets
    ends = engine.kafka.held([topic])[topic]
    ranges = engine.kafka.until(topic, engine.topic_options(source), ends)
    return {n: first for n, (first, _) in ranges.items()}


def _sent_before(
    engine: Engine, source: TopicRead, topic: str, record: QueryRecord
) -> SentDeadLetters | None:
    sent = read_sent(engine.files, engine.checkpoints, source.relation, topic)
    id_ = record.ids.get(topic, "")
    return None if sent is None or (sent.id and id_ and sent.id != id_) else sent


def _readers(engine: Engine, source: TopicRead) -> tuple[str, ...]:
    """Return the checkpoints and models that read a source; a query that never ran is given by name."""
    readers: list[str] = []
    for query in engine.job.physical.queries:
        if any(read.relation == source.relation for read in query.sources):
            record = engine.record(query)
            readers += (
                [query.name] if record is None else [f"{record.id}/{model}" for model in record.outputs or ()]
            )
    return tuple(sorted(readers))


def _send(engine: Engine, source: TopicRead, read: str, ranges: topic_reads.Ranges, since: Offsets) -> None:
    """Send the dead letters of some records, except those that the dead letter topic already holds."""
    query = dead_letters_query_of(engine.job.topology, source.relation)
    topic = _topic_of(query)
    name = f"dead letters of {source.relation.last_name}"
    engine.tell(SetupStep(name))
    context = engine.context_of(query, f"{query.name}/{read}")
    if context.stores.exactly_once is not None:
        context.stores.exactly_once.end_earlier()
    before = engine.kafka.held([topic])[topic]
    held = engine.kafka.until(topic, {"began": since}, before)
    options = engine.kafka.source([topic], {})

    def without_sent(rows: DataFrame) -> DataFrame:
        dead_letters = TopicRead("_letters", NO_NODE, (topic,), headers=True)
        topic_reads.read_ranges(rows.sparkSession, dead_letters, options, {topic: held})
        return unsent.not_among(rows, rows.sparkSession.table("_letters"), source.relation)

    available = engine.kafka.until(read, {}, {n: stop for n, (_, stop) in ranges.items()})
    unsent_ranges = {
        n: (min(max(first, ranges[n][0]), stop), stop)
        for n, (first, stop) in available.items()
        if n in ranges
    }
    # Spark wants a range of each partition that it reads.
    ends_of_others = engine.kafka.held(name for name in source.topics if name != read)
    others = {name: {n: (end, end) for n, end in ends.items()} for name, ends in ends_of_others.items()}
    run_once(
        engine.spark,
        query,
        replace(context, without_sent=without_sent),
        {topic: topic_range(part) for topic, part in (others | {read: unsent_ranges}).items()},
    )
    count = sum(engine.kafka.held([topic])[topic].values()) - sum(before.values())
    engine.tell(SetupStep(name, f"{count:,} sent", done=True))


def _from(context: QueryContext, source: TopicRead, starts: Mapping[str, Offsets]) -> QueryContext:
    """Let a query begin exactly where the sent dead letters end."""
    options = context.sources[source.relation]
    source_options = {name: value for name, value in options.items() if not name.startswith("starting")}
    source_options["startingOffsets"] = topic_reads.offsets_of(starts)
    return replace(context, sources={**context.sources, source.relation: source_options})


def _topic_of(query: Query) -> str:
    return next(o.topic for o in query.dead_letters if o.source == query.dead_letter_source)
