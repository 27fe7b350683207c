"""A query is made anew beside what it has, from the start of its sources, and takes its place in the end.

Meanwhile its tables stay as they are. Its new rows go to tables of another name; what it sends to topics is
sent at once. Killed before the swap (`swapping`), it goes on the next time that somebody asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from millstream.deployment.records import Offsets, new_record
from millstream.physical.values import PerBatch, Query, SinkOutput, TableOutput
from millstream.runner import aside
from millstream.runner.aside import Aside
from millstream.runner.dead_letters import with_letters
from millstream.runner.engine import Engine
from millstream.runner.starting import Around
from millstream.runner.swapping import decide, forget, settle


def begin(running: Engine, query: Query, apply: str = "") -> tuple[Query, Around]:
    """Return a query and its surroundings until the swap; `apply` keeps what it takes the place of."""
    place = running.place(query)
    new = new_record(running.job.project.settings.name, query, running.ids(query))
    found = aside.read(running.files, place)
    digest = _digest(running, query)
    if found is None or found.digest != digest or found.apply != apply:
        forget(running.files, running.tables, place)
        sent = [t.topic for t in query.outputs if isinstance(t, SinkOutput)]
        record = replace(new, folder=f"spark-{new.id}", began=_began(running, query, sent))
        streamed = tuple(sorted(running.streamed.intersection(record.tables)))
        found = Aside(record, digest, query.tables, streamed, apply=apply)
        aside.write(running.files, place, found)
    made = _beside(query, found)
    created = {t.model for t in made.tables if running.tables.create(t, changes=False)}
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
