"""Records that a query leaves out or sends to dead letters, counted while it runs, without a second pass.

Spark observes them on the way, and tells with the progress of each batch (`observedMetrics`). A batch that
fails and is tried again counts once, by the try that ended well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as f
from pyspark.sql.streaming.listener import StreamingQueryProgress

from millstream.formats.sql import BAD
from millstream.physical.checks import count_name
from millstream.physical.emit.steps import CountedView
from millstream.physical.values import DeadLetters, Query, SinkOutput, ToKafka
from millstream.runner.reading import OLDEST
from millstream.runner.results import Counts

Observed = dict[int, dict[str, int]]
"""By number of a batch: what was counted in it, by fate and whose records they were."""


def without_bad(rows: DataFrame, step: CountedView) -> DataFrame:
    """Drop records that could not be decoded, and count them."""
    counted = f.count_if(f.col(BAD)).alias(count_name("skipped", step.relation))
    return rows.observe(step.name, counted).where(f"not {BAD}").drop(BAD)


def counted(records: DataFrame, query: Query) -> DataFrame:
    """Count the dead letters among a query's records, and those that only tell of a row."""
    how = query.deliver
    letters = [each for each in query.outputs if isinstance(each, DeadLetters)]
    if not isinstance(how, ToKafka) or not (letters or how.skips or how.tests):
        return records
    observed = [_telling(model).alias(count_name("skipped", model)) for model in how.skips]
    observed += [_telling(test).alias(count_name("tests", test)) for test in how.tests]
    if letters:
        observed += _letters(letters, [each.model for each in query.outputs if isinstance(each, SinkOutput)])
    found = records.observe("records", *observed)
    return found.where("topic is not null") if how.skips or how.tests else found


def _telling(whose: str) -> Column:
    return f.count_if(f.col("topic").isNull() & (f.col("key") == f.lit(whose).cast("binary")))


def _letters(letters: Iterable[DeadLetters], models: Collection[str]) -> Iterable[Column]:
    """Count dead letters by the model that their reason begins with; all others are of their source."""
    reason = f.try_element_at("headers", f.lit(-1)).getField("value").cast("string")
    is_letter = f.col("topic").isin([each.topic for each in letters])
    of_models: Column = f.lit(False)
    for model in models:
        own = is_letter & reason.startswith(f"{model.partition('.')[2]}: ")
        of_models |= own
        yield f.count_if(own).alias(count_name("dead_letters", model))
    for each in letters:
        if each.source in models:
            continue
        whose = (f.col("topic") == each.topic) & ~of_models
        yield f.count_if(whose).alias(count_name("dead_letters", each.source))


def observed(progress: Iterable[StreamingQueryProgress]) -> Observed:
    """Return what was observed in each batch; Spark forgets the oldest ones of a long query."""
    return {
        batch.batchId: _numbers(
            row for name, row in batch.observedMetrics.items() if not name.startswith(OLDEST)
        )
        for batch in progress
    }


def _numbers(rows: Iterable[Row]) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        for name, number in row.asDict().items():
            # Several parts of a query may decode a source: each observes the same records.
            found[name] = max(found.get(name, 0), number or 0)
    return found


def counts(batches: Iterable[Mapping[str, int]]) -> Counts:
    """Add up what was observed."""
    found: dict[str, dict[str, int]] = {"skipped": {}, "dead_letters": {}, "tests": {}}
    for numbers in batches:
        for name, number in numbers.items():
            fate, _, whose = name.partition(" ")
            if number:
                found[fate][whose] = found[fate].get(whose, 0) + number
    return Counts(found["skipped"], found["dead_letters"], found["tests"])
