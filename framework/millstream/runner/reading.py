"""What a query reads becomes views of its session."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from millstream.expressions import quoted
from millstream.physical.durations import milliseconds
from millstream.physical.values import SourceRead
from millstream.project.seed_rows import seed_texts
from millstream.project.values import Project, Seed

Ranges = Mapping[int, tuple[int, int]]
"""By partition: the first record, and the one after the last."""
_LARGEST = "maxOffsetsPerTrigger"
_WAITING = _SMALLEST, _PATIENCE = "minOffsetsPerTrigger", "maxTriggerDelay"
_SIZES = (_LARGEST, *_WAITING)
OLDEST = "oldest of "
"""What the name begins with of what is observed of a topic's records: when the oldest of a batch came."""


def sizes(said: Mapping[str, Any]) -> dict[str, str]:
    """Return how many records of a topic batches have, as Spark's Kafka source wants it."""
    found = {_LARGEST: said.get("max_rows_per_trigger"), _SMALLEST: said.get("min_rows_per_trigger")}
    if delay := said.get("max_trigger_delay"):
        found[_PATIENCE] = f"{milliseconds(delay)}ms"
    return {name: str(value) for name, value in found.items() if value is not None}


def _unobeyed(trigger: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what `sizes` says that must be left out.

    Who reads what there is now would leave what is less than the smallest batch; real-time mode has no
    batches.
    """
    if "processingTime" in trigger:
        return ()
    return _WAITING if "availableNow" in trigger else _SIZES


def records(
    session: SparkSession,
    source: SourceRead,
    options: Mapping[str, str],
    trigger: Mapping[str, Any],
    *,
    timed: bool = False,
) -> None:
    """Read the records of a topic as they come; `timed` observes when the oldest of a batch came."""
    without = _unobeyed(trigger)
    options = {name: value for name, value in options.items() if name not in without}
    reader = session.readStream.format("kafka").options(**options).option("subscribe", source.topic)
    reader = reader.option("includeHeaders", str(source.headers).lower())
    found = reader.load()
    if timed:
        oldest = f.unix_micros(f.min("timestamp")).alias("micros")
        found = found.observe(f"{OLDEST}{source.relation}", oldest)
    found.createOrReplaceTempView(source.view)


def bounded(session: SparkSession, source: SourceRead, options: Mapping[str, str], ranges: Ranges) -> None:
    """Read the records of a topic between two offsets of each partition, as a table at rest."""
    own = {name: v for name, v in options.items() if not name.startswith(("starting", *_SIZES))}
    own["startingOffsets"] = offsets_of({source.topic: {n: first for n, (first, _) in ranges.items()}})
    own["endingOffsets"] = offsets_of({source.topic: {n: stop for n, (_, stop) in ranges.items()}})
    reader = session.read.format("kafka").options(**own).option("subscribe", source.topic)
    reader = reader.option("includeHeaders", str(source.headers).lower())
    reader.load().createOrReplaceTempView(source.view)


def offsets_of(topics: Mapping[str, Mapping[int, int]]) -> str:
    """Return a place by topic and partition as the Kafka source wants it."""
    return json.dumps({topic: {str(n): at for n, at in numbers.items()} for topic, numbers in topics.items()})


def seed(session: SparkSession, view: str, project: Project, given: Seed) -> None:
    """Read a CSV file, whose rows go with the query wherever it runs."""
    texts = seed_texts(Path(project.root), given)
    names = [column.name for column in given.columns]
    schema = ", ".join(f"{quoted(name)} string" for name in names)
    typed = [f.col(quoted(c.name)).cast(str(c.type or "string")).alias(c.name) for c in given.columns]
    session.createDataFrame(texts, schema).select(*typed).createOrReplaceTempView(view)
