"""A model that joins a query gets what the query has read before: on its own, and then it goes on with it.

The record of the query names the model only after that. Who is killed before begins the backfill anew, and
its records say, as all do, what they were made from; while it runs, nobody moves the query's checkpoint.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from millstream.deployment.records import Offsets, Record
from millstream.errors import Diagnostic, MillstreamError
from millstream.physical.values import PerBatch, Query
from millstream.runner.checkpoints import files as checkpoints
from millstream.runner.checkpoints.files import CheckpointFolder
from millstream.runner.engine import Engine
from millstream.runner.queries.reads import Ranges
from millstream.runner.queries.start import run_once
from millstream.runner.values import Setup, Told
from millstream.topology import alone_of


def backfill(
    running: Engine,
    query: Query,
    record: Record,
    place: CheckpointFolder,
    models: Collection[str],
    new: Iterable[str],
) -> dict[str, Diagnostic]:
    """Run models over what their query has read; return those that fail, with why.

    `new` are tables that nothing was stored in before.
    """
    spark = place.spark(record)
    batch = checkpoints.last_done(running.files, spark)
    if batch is None:
        return {}
    read = None if query.signature.stateful else checkpoints.read_up_to(running.files, spark, batch)
    if read is None:
        for model in models:
            running.tell(Told(_late(query, model)))
        return {}
    failed: dict[str, Diagnostic] = {}
    for together, starts in _by_start(record, models):
        ranges = running.ranges(query, starts, read)
        if not any(stop > first for parts in ranges.values() for first, stop in parts.values()) and ranges:
            continue
        failed |= _filled(running, query, record, together, ranges, frozenset(new))
    return failed


def _by_start(record: Record, models: Iterable[str]) -> list[tuple[list[str], dict[str, Offsets]]]:
    """Put those models together that begin at the same records."""
    found: list[tuple[list[str], dict[str, Offsets]]] = []
    for model in models:
        starts = record.left_out.get(model, {})
        together = next((names for names, those in found if those == starts), None)
        if together is None:
            found.append(([model], starts))
        else:
            together.append(model)
    return found


def _filled(
    running: Engine,
    query: Query,
    record: Record,
    models: Sequence[str],
    ranges: dict[str, Ranges],
    new: frozenset[str],
) -> dict[str, Diagnostic]:
    """Run some models together; where that fails, each on its own."""
    names = ", ".join(model.partition(".")[2] for model in models)
    stage = f"backfill of {names}"
    running.tell(Setup(stage))
    alone = alone_of(running.job.topology, query.name, models)
    around = running.context_of(alone, _identity(alone, record, ranges), new)
    try:
        run_once(running.spark, alone, around, ranges)
    except (MillstreamError, PySparkException, Py4JError) as error:
        running.tell(Setup(stage, done=True))
        if len(models) == 1:
            return {models[0]: running.problem(alone, error)}
        found: dict[str, Diagnostic] = {}
        for model in models:
            found |= _filled(running, query, record, [model], ranges, new)
        return found
    count = sum(stop - first for parts in ranges.values() for first, stop in parts.values())
    said = f"{count:,} records" if ranges else "the rows of tables"
    running.tell(Setup(stage, f"{said} that {query.name} has read before", done=True))
    return {}


def _identity(alone: Query, record: Record, ranges: dict[str, Ranges]) -> str:
    """Return what repeated records have in common."""
    told = [f"{topic}-{n}:{end}" for topic, parts in ranges.items() for n, (_, end) in parts.items()]
    digest = blake2b("\n".join([*alone.models, *told]).encode(), digest_size=6).hexdigest()
    # A table that was dropped meanwhile must not think that it has the rows; merged twice, they are the same.
    once = uuid.uuid4().hex[:12] if isinstance(alone.deliver, PerBatch) else digest
    return f"{alone.name}/{record.id}.{once}"


def _late(query: Query, model: str) -> Diagnostic:
    name = model.partition(".")[2]
    return Diagnostic(
        "MS876",
        f"'{name}' is new in the query {query.name}, and gets the records from now on",
        None,
        f"for those before: millstream build --full-refresh --select {name}, which sends again "
        "what the other models of the query have sent",
        severity="warning",
    )
