"""What is made anew is compared with what runs, in columns that an edit does not touch, before it is swapped.

Both must have read the same records for that. So the first batch of what is made anew is cut to end where the
running version is, and its rows are compared before the next one begins, and before any record is sent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec.structs import replace
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from millstream.deployment.records import Offsets, Record
from millstream.deployment.stages import Compare
from millstream.errors import MillstreamError, Note
from millstream.physical.values import Query, SinkOutput, TableOutput
from millstream.runner import aside
from millstream.runner.aside import renamed
from millstream.runner.checkpoints import cut, last_begun, last_done, read_up_to
from millstream.runner.comparing import compared
from millstream.runner.engine import Engine
from millstream.runner.starting import Around, start
from millstream.runner.tables import ASIDE
from millstream.runner.values import Compared
from millstream.types import has_equality


def proved(
    running: Engine,
    query: Query,
    beside: Query,
    around: Around,
    compare: Compare,
    rebuilt: Collection[str],
) -> Around:
    """Return the surroundings in which the first batch is compared; where it can't be, tell why."""
    files = running.files
    if not (tables := query.tables):
        return around
    record, spark, place = running.record(query), around.checkpoint, running.place(query)
    if last_done(files, spark) is not None:
        return around  # it was compared, and killed later
    found, made = _ends(running, query, record, rebuilt), aside.read(files, place)
    assert made is not None
    if made.ends is not None and made.ends != found:
        found = "what runs has gone on since it was begun"
    if isinstance(found, str):
        for table in tables:
            running.tell(Compared(table.model, less=found))
        # A batch that was done is never to be cut.
        aside.write(files, place, replace(made, ends=made.ends or {}))
        return around
    assert record is not None
    if made.ends is None:
        _decide_on_the_first(running, beside, around)
        if last_begun(files, spark) is None:
            return around  # there is nothing to read
        cut(files, spark, 0, found)
        aside.write(files, place, replace(made, ends=found))

    def check(session: SparkSession, number: int) -> None:
        if number == 0:
            _compare(running, session, tables, record, compare)

    return replace(around, stores=replace(around.stores, check=check))


def _ends(
    running: Engine, query: Query, record: Record | None, rebuilt: Collection[str]
) -> dict[str, Offsets] | str:
    """Return how far the running version has read, or why nobody can say what it should have made of that."""
    if record is None:
        return "another query made it before"
    others = {
        t.model: q.name for q in running.job.physical.queries for t in q.outputs if isinstance(t, SinkOutput)
    }
    for source in query.sources:
        if not source.topic:
            return f"it reads the changes of {_name(source.relation)}, not a topic"
        if others.get(source.relation) in rebuilt:
            return f"it reads {_name(source.relation)}, which is made anew, too"
    if looked_up := [r.relation for r in query.reads if not r.relation.startswith("seed.")]:
        return f"it looks up {_name(min(looked_up))}, whose rows were others then"
    old = running.place(query).spark(record)
    done = last_done(running.files, old)
    if done is None or done != last_begun(running.files, old):
        return "what runs was stopped within a batch"
    ends = read_up_to(running.files, old, done) or {}
    there = running.kafka.held([source.topic for source in query.sources])
    if any(ends.get(topic, {}).keys() != partitions.keys() for topic, partitions in there.items()):
        return "it did not read the same topics and partitions before"
    return ends


class _OnlyDecidedError(Exception):
    """Ends a batch as soon as it is known what it reads."""


class _Refusal:
    def __enter__(self) -> None:
        raise _OnlyDecidedError

    def __exit__(self, *_: object) -> None:
        """Do nothing: it is never entered."""


def _decide_on_the_first(running: Engine, beside: Query, around: Around) -> None:
    """Have Spark write what the first batch reads, and do nothing with it."""
    stores = replace(around.stores, turn=_Refusal())
    streaming = start(running.spark, beside, replace(around, stores=stores), availableNow=True)
    try:
        streaming.awaitTermination()
    except StreamingQueryException as error:
        if _OnlyDecidedError.__name__ not in str(error):
            raise
    finally:
        streaming.stop()


def _compare(
    running: Engine, session: SparkSession, tables: Sequence[TableOutput], record: Record, compare: Compare
) -> None:
    problems = []
    for table in tables:
        names = _comparable(table, record, compare.untouched)
        if isinstance(names, str):
            running.tell(Compared(table.model, less=names))
            continue
        old = running.tables.rows(session, table)
        new = running.tables.rows(session, renamed(table, ASIDE))
        rows, problem = compared(table, names, old, new)
        if problem is None:
            running.tell(Compared(table.model, tuple(names), rows))
        elif compare.accept_differences:
            running.tell(Compared(table.model, tuple(names), rows, less=problem.message))
        else:
            problems.append(problem)
    if problems:
        first, *others = problems
        notes = (note for each in others for note in (Note(each.message), *each.notes))
        raise MillstreamError(replace(first, notes=(*first.notes, *notes)))


def _comparable(
    table: TableOutput, record: Record, untouched: Mapping[str, Sequence[str]]
) -> list[str] | str:
    """Return the columns to compare beside the keys, or why there are none."""
    before = {column.name: column.type for column in record.tables.get(table.model, ())}
    if not before:
        return "what runs has no such table"
    if table.model not in untouched:
        return "what the edit touches is not known"
    same = set(untouched[table.model])
    if not same.issuperset(table.keys):
        return "the edit is one of which rows there are"
    types = {column.name: column.type for column in table.columns}
    return [
        name
        for name, type_ in types.items()
        if name in same and name not in table.keys and before.get(name) == type_ and has_equality(type_)
    ]


def _name(id_: str) -> str:
    return id_.partition(".")[2]
