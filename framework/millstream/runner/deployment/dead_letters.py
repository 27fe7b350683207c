"""Each record that a source can't decode becomes one dead letter, whichever query of the source sends it.

Models come and go, and with them the query that sends a source's letters. So a note next to the checkpoints
says up to which offsets letters were sent. A query that begins before them leaves those letters out; for one
that begins after them, the letters in between are sent first. There, what the topic of dead letters holds
already is not sent again.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from msgspec.structs import replace
from pyspark.sql import DataFrame

from millstream.deployment.intents import may_rebuild
from millstream.deployment.records import Offsets, Record
from millstream.physical.values import DeadLetters, Query, SourceRead
from millstream.runner.checkpoints.dead_letter_offsets import Sent, later, progress, read, settled, write
from millstream.runner.checkpoints.files import CheckpointFolder
from millstream.runner.deployment import dead_letter_filter as unsent
from millstream.runner.engine import Engine
from millstream.runner.queries import reads as reading
from millstream.runner.queries.reads import Ranges
from millstream.runner.queries.start import QueryContext, run_once
from millstream.runner.values import Setup
from millstream.topology import dead_letters_alone_of


def with_letters(
    running: Engine, query: Query, record: Record, place: CheckpointFolder, context: QueryContext
) -> QueryContext:
    """Return surroundings in which a query sends the letters that were not sent, and no others."""
    source = next((each for each in query.sources if query.letters and each.relation == query.letters), None)
    if source is None:
        return context
    files, folder, spark = running.files, running.checkpoints.rstrip("/"), place.spark(record)
    done, again = progress(files, spark, source.topic)
    starts = _begins(running, source) if done is None else done
    columns = (*((source.key,) if source.key else ()), *source.columns)
    known = settled(
        files, folder, _known(running, source, record) or Sent(source.topic, starts, columns, starts)
    )
    due, readers = later(starts, again), _readers(running, source)
    # Of records that are read again, some can be bad in a column that nothing read before.
    recheck = not set(columns) <= set(known.columns) and _read_again(running, known, readers)
    since, upto = known.began if recheck else known.upto, later(known.upto, due)
    ranges = {n: (min(since.get(n, 0), stop), stop) for n, stop in (upto if recheck else due).items()}
    if late := any(stop > start for start, stop in ranges.values()):
        _send(running, source, ranges, {} if recheck else known.end)
    now = replace(
        known,
        id=record.ids.get(source.topic, ""),
        upto=upto,
        columns=columns if recheck else tuple(each for each in known.columns if each in columns),
        readers=readers,
        checkpoint=spark.removeprefix(f"{folder}/"),
        end=running.kafka.held([_topic_of(query)])[_topic_of(query)],
    )
    write(files, folder, source.relation, now)
    if late and done is None and not again:
        context = _from(context, source, starts)
    if any(at > starts.get(n, 0) for n, at in upto.items()):
        left = partial(unsent.from_offsets, source=source.relation, topic=_topic_of(query), starts=upto)
        context = replace(context, without_sent=left)
    return context


def _begins(running: Engine, source: SourceRead) -> Offsets:
    """Return where a new query begins to read a topic."""
    ends = running.kafka.held([source.topic])[source.topic]
    ranges = running.kafka.until(source.topic, running.said(source), ends)
    return {n: first for n, (first, _) in ranges.items()}


def _known(running: Engine, source: SourceRead, record: Record) -> Sent | None:
    found = read(running.files, running.checkpoints, source.relation)
    if found is None or found.topic != source.topic:
        return None
    id_ = record.ids.get(source.topic, "")
    return None if found.id and id_ and found.id != id_ else found


def _readers(running: Engine, source: SourceRead) -> tuple[str, ...]:
    """Return what reads a source; of a query that never ran, only its name."""
    found: list[str] = []
    for query in running.job.physical.queries:
        if any(each.relation == source.relation for each in query.sources):
            record = running.record(query)
            stored = (record.outputs or {}) if record is not None else {}
            found += [f"{record.id}/{model}" for model in stored] if record is not None else [query.name]
    return tuple(sorted(found))


def _read_again(running: Engine, known: Sent, readers: Collection[str]) -> bool:
    """Tell whether anything reads records of a source that were read before."""
    return may_rebuild(running.job.intent) or not set(readers) <= set(known.readers)


def _send(running: Engine, source: SourceRead, ranges: Ranges, since: Offsets) -> None:
    """Send the letters of some records that are not in the topic of dead letters yet."""
    query = dead_letters_alone_of(running.job.topology, source.relation)
    topic = _topic_of(query)
    name = f"dead letters of {source.relation.rpartition('.')[2]}"
    running.tell(Setup(name))
    before = running.kafka.held([topic])[topic]
    held = running.kafka.until(topic, {"began": since}, before)
    options = running.kafka.source(topic, {})

    def without_sent(rows: DataFrame) -> DataFrame:
        letters = SourceRead("_letters", "", topic, headers=True)
        reading.bounded(rows.sparkSession, letters, options, held)
        return unsent.not_among(rows, rows.sparkSession.table("_letters"), source.relation)

    context = running.context_of(query, f"{query.name}/{source.topic}")
    there = running.kafka.until(source.topic, {}, {n: stop for n, (_, stop) in ranges.items()})
    kept = {n: (min(max(at, ranges[n][0]), stop), stop) for n, (at, stop) in there.items() if n in ranges}
    run_once(running.spark, query, replace(context, without_sent=without_sent), {source.topic: kept})
    count = sum(running.kafka.held([topic])[topic].values()) - sum(before.values())
    running.tell(Setup(name, f"{count:,} that were not sent yet", done=True))


def _from(context: QueryContext, source: SourceRead, starts: Offsets) -> QueryContext:
    """Have a query begin exactly where the letters that were sent end."""
    said = context.sources[source.relation]
    own = {name: value for name, value in said.items() if not name.startswith("starting")}
    own["startingOffsets"] = reading.offsets_of({source.topic: starts})
    return replace(context, sources={**context.sources, source.relation: own})


def _topic_of(query: Query) -> str:
    return next(t.topic for t in query.outputs if isinstance(t, DeadLetters) and t.source == query.letters)
