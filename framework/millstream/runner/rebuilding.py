"""A query is made anew beside what it has, from the start of its sources, and takes its place in the end.

Meanwhile its tables stay as they are. Its new rows go to tables of another name; what it sends to topics is
sent at once. Killed before the swap (`swapping`), it goes on the next time that somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from millstream.errors import Diagnostic, MillstreamError
from millstream.physical.resent import Twice, counted_twice
from millstream.physical.values import PerBatch, Query, SinkOutput, TableOutput
from millstream.runner import aside, checkpoints
from millstream.runner.aside import Aside
from millstream.runner.checkpoints import Offsets, records_in, tables_of, taken_over
from millstream.runner.choosing import makers
from millstream.runner.dead_letters import with_letters
from millstream.runner.engine import Engine
from millstream.runner.failures import told_of
from millstream.runner.starting import Around
from millstream.runner.swapping import decide, forget, settle


def to_rebuild(running: Engine, queries: Iterable[Query]) -> dict[str, Query]:
    """Return the queries that are to be made anew, by name; refuse where rows would be counted twice.

    Those that keep nothing have nothing to make anew, and what never ran is new as it is.
    """
    asked = {query.name for query in makers(running.job, running.job.rebuild)}
    known = records_in(running.files, running.checkpoints) if asked else {}
    anew = {
        query.name: query
        for query in queries
        if query.name in asked
        and (query.signature.stateful or tables_of(query))
        and (query.name in known or taken_over(query, known))
    }
    check_readers(running, anew)
    return anew


def check_readers(running: Engine, anew: Mapping[str, Query]) -> None:
    """Refuse to send rows again to a topic of which a state would count them twice."""
    found = list(counted_twice(anew.values(), running.job.physical.queries))
    if found:
        raise MillstreamError(*map(_counted_twice, found))


def begin(running: Engine, query: Query, apply: str = "") -> tuple[Query, Around] | None:
    """Return a query and its surroundings until the swap; nothing where that has begun, and is ended now.

    `apply` keeps what it takes the place of.
    """
    place = running.place(query)
    new = checkpoints.new_record(running.job.project.settings.name, query, running.ids(query))
    found = aside.read(running.files, place)
    if found is not None and found.swapping:
        settle(running.files, running.tables, place)
        return None
    digest = _digest(running, query)
    if found is None or found.digest != digest or found.apply != apply:
        forget(running.files, running.tables, place)
        sent = [t.topic for t in query.outputs if isinstance(t, SinkOutput)]
        record = replace(new, folder=f"spark-{new.id}", began=_began(running, query, sent))
        streamed = tuple(sorted(running.streamed.intersection(record.tables)))
        found = Aside(record, digest, tables_of(query), streamed, apply=apply)
        aside.write(running.files, place, found)
    made = _beside(query, found)
    created = {t.model for t in tables_of(made) if running.tables.create(t, changes=False)}
    around = running.around(made, found.record, place, frozenset(created))
    return made, with_letters(running, made, found.record, place, around)


def swap(running: Engine, query: Query) -> None:
    """Put what was rebuilt in the place of what was there."""
    place = running.place(query)
    decide(running.files, place)
    settle(running.files, running.tables, place)


def _digest(running: Engine, query: Query) -> str:
    """Return what changes with anything that a query does: half of a rebuild is of no use to another one."""
    functions = [running.job.catalog.functions[name].digest for name in query.functions]
    return blake2b(msgspec.json.encode((query, functions)), digest_size=12).hexdigest()


def _began(running: Engine, query: Query, topics: Iterable[str]) -> dict[str, Offsets]:
    """Return where the records begin that a query sends from now on; only who appends sends them again."""
    return running.kafka.held(topics) if query.output_mode == "append" else {}


def _beside(query: Query, found: Aside) -> Query:
    """Return a query that stores its rows in tables of another name."""
    if not isinstance(query.deliver, PerBatch):
        return query
    deliveries = tuple(
        replace(each, target=found.beside(each.target)) if isinstance(each.target, TableOutput) else each
        for each in query.deliver.deliveries
    )
    return replace(query, deliver=replace(query.deliver, deliveries=deliveries))


def _counted_twice(found: Twice) -> Diagnostic:
    name = found.model.removeprefix("model.")
    return Diagnostic(
        "MS882",
        f"{told_of(found.writer)} would send its rows again, and {told_of(found.reader)} count them twice",
        None,
        f"rebuild both: --rebuild {name}+",
    )
