"""Counts the records that a query leaves out or sends to dead letters, without a second pass over them.

Spark observes them as they pass, and reports them with the progress of each batch (`observedMetrics`). A
batch that is repeated after a failure counts once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming.listener import StreamingQueryProgress

from millstream.core.node_id import NodeId
from millstream.engine.queries.query_results import RecordCounts
from millstream.formats.sql import BAD
from millstream.plan.nodes import Meter, RecordValidity, RowLog
from millstream.queries.checks import count_name
from millstream.queries.dead_letters import COLUMNS
from millstream.queries.emit.steps import CountedView
from millstream.queries.measures import METRICS, metric_id
from millstream.queries.row_logs import LOGS, log_id
from millstream.queries.values import DeadLetters, Query, ToKafka
from millstream.sources.topic.spark import OLDEST
from millstream.stores.spark import KIND

OTHERS = "_other"
"""The label of what is not counted apart."""
_MANY = "\x01"
"""What the function `tally` calls it."""
_REASONS = "reasons"
_MOST_REASONS = 50
_LONGEST = 120
_VALUES = r"'[^']*'|\"[^\"]*\"|\d+"
Observed = dict[int, dict[str, int]]
"""The counts of each batch, by its number and the names of `count_name`."""


def without_bad(rows: DataFrame, step: CountedView) -> DataFrame:
    """Count bad records, and drop those that are bad for all models."""
    name = count_name("skipped", step.relation)
    if not step.good:
        return rows.observe(step.name, f.count_if(f.col(BAD)).alias(name)).where(f"not {BAD}").drop(BAD)
    for_all = reduce(and_, map(f.col, step.good))
    observed = [f.count_if(~for_all).alias(name)]
    if len(step.good) > 1:
        observed += [f.count_if(~f.col(column)).alias(f"{name} {column}") for column in step.good]
    return rows.observe(step.name, *observed)


def with_counts(records: DataFrame, query: Query) -> DataFrame:
    """Count the dead letters among a query's records, and the markers of rows that are left out."""
    how = query.deliver
    dead_letters = query.dead_letters
    if not isinstance(how, ToKafka):
        outputs = query.model_outputs
        if len(outputs) != 1:
            return records
        return records.observe("rows", f.count(f.lit(1)).alias(count_name("rows", outputs[0].model)))
    observed = [
        f.count_if(f.col("topic") == sink.topic).alias(count_name("rows", sink.model)) for sink in query.sinks
    ]
    if not observed and not dead_letters:
        return records
    observed += [_markers(model).alias(count_name("skipped", model)) for model in how.skips]
    observed += [_metric(meter).alias(f"{METRICS} {meter.name}") for meter in how.metrics]
    observed += [_gathered(model, log).alias(f"{LOGS} {model}") for model, log in how.logs.items()]
    observed += [_markers(test).alias(count_name("tests", test)) for test in how.tests]
    if dead_letters:
        models = [sink.model for sink in query.sinks]
        observed += _dead_letters(dead_letters, models)
        observed.append(_reasons(dead_letters))
    return without_markers(records.observe("records", *observed), query)


def without_markers(records: DataFrame, query: Query) -> DataFrame:
    """Leave out the markers of what is counted: rows that a query leaves out, tests, metrics and logs."""
    how = query.deliver
    if isinstance(how, ToKafka) and (how.skips or how.tests or how.metrics or how.logs):
        return records.where("topic is not null")
    return records


def with_changes(feed: DataFrame, query: Query) -> DataFrame:
    """Count the changes of a table that a query follows."""
    outputs = query.model_outputs
    if len(outputs) != 1:
        return feed
    changed = f.count_if(f.col(KIND) != "update_preimage").alias(count_name("rows", outputs[0].model))
    return feed.observe("rows", changed)


def _markers(whose: NodeId) -> Column:
    return f.count_if(_is_marker(str(whose)))


def _is_marker(whose: str) -> Column:
    return f.col("topic").isNull() & (f.col("key") == f.lit(whose).cast("binary"))


def _metric(meter: Meter) -> Column:
    boundaries = ",".join(map(str, meter.buckets))
    text = f.when(_is_marker(str(metric_id(meter))), f.col("value").cast("string"))
    return f.call_function("tally", text, f.lit(boundaries), f.lit(str(meter.most)))


def _gathered(model: NodeId, log: RowLog) -> Column:
    text = f.when(_is_marker(log_id(model)), f.col("value").cast("string"))
    return f.call_function("gather", text, f.lit(str(log.sample)), f.lit(str(log.per_minute)))


def _dead_letters(dead_letters: Iterable[DeadLetters], models: Collection[NodeId]) -> Iterable[Column]:
    """Count dead letters by the model that their reason begins with; all others belong to their source."""
    reason = f.try_element_at("headers", f.lit(-1)).getField("value").cast("string")
    is_letter = f.col("topic").isin([output.topic for output in dead_letters])
    of_models: Column = f.lit(False)
    for model in models:
        is_of_model = is_letter & reason.startswith(f"{model.name}: ")
        of_models |= is_of_model
        yield f.count_if(is_of_model).alias(count_name("dead_letters", model))
    for output in dead_letters:
        if output.source in models:
            continue
        whose = (f.col("topic") == output.topic) & ~of_models
        name = count_name("dead_letters", output.source)
        yield f.count_if(whose).alias(name)
        for good in output.good:
            yield f.count_if(whose & _is_bad(good)).alias(f"{name} {good.name}")


def _is_bad(good: RecordValidity) -> Column:
    """Whether a dead letter is that of models which drop bad records by a column."""
    header = f.try_element_at("headers", f.lit(-2))
    columns = f.split(f.lower(header.getField("value").cast("string")), ",")
    read = f.array(f.lit("*"), *map(f.lit, good.columns))
    return (header.getField("key") == COLUMNS) & f.arrays_overlap(columns, read)


def _reasons(dead_letters: Iterable[DeadLetters]) -> Column:
    """Count dead letters by reason; numbers and quoted texts in it would make too many."""
    reason = f.try_element_at("headers", f.lit(-1)).getField("value").cast("string")
    kind = f.substring(f.regexp_replace(reason, _VALUES, "…"), 1, _LONGEST)
    is_letter = f.col("topic").isin([output.topic for output in dead_letters])
    text = f.when(is_letter, f.concat(f.lit("1\0"), f.coalesce(kind, f.lit(""))))
    return f.call_function("tally", text, f.lit(""), f.lit(str(_MOST_REASONS))).alias(_REASONS)


def count_reasons(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    return {
        OTHERS if reason == _MANY else reason: int(sums[0])
        for row in rows
        for reason, sums in (row.get(_REASONS) or {}).items()
    }


def observe_counts(progress: Iterable[StreamingQueryProgress]) -> Observed:
    """Return the counts of each batch; Spark drops the oldest batches of a long query."""
    return {
        batch.batchId: numbers_of(
            row.asDict() for name, row in batch.observedMetrics.items() if not name.startswith(OLDEST)
        )
        for batch in progress
    }


def numbers_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return the counts among what a batch observed."""
    numbers: dict[str, int] = {}
    for row in rows:
        for name, number in row.items():
            if name.startswith((f"{METRICS} ", f"{LOGS} ", _REASONS)):
                continue
            # Several parts of a query may decode the same source: each observes the same records.
            numbers[name] = max(numbers.get(name, number or 0), number or 0)
    return numbers


Metrics = dict[str, dict[str, list[float]]]
"""The sums of a batch by metric and by its labels: rows, sum, least, greatest, rows up to each boundary."""


def metrics_of(rows: Iterable[Mapping[str, Any]]) -> Metrics:
    """Return the metrics among what a batch counted."""
    prefix = f"{METRICS} "
    return {
        name.removeprefix(prefix): {labels: list(sums) for labels, sums in by_labels.items()}
        for row in rows
        for name, by_labels in row.items()
        if name.startswith(prefix) and by_labels
    }


def metrics_together(one: Metrics, other: Metrics) -> Metrics:
    """Return the sums of two batches."""
    metrics = {name: dict(by_labels) for name, by_labels in one.items()}
    for name, by_labels in other.items():
        summed = metrics.setdefault(name, {})
        for labels, sums in by_labels.items():
            summed[labels] = _together(summed[labels], sums) if labels in summed else sums
    return metrics


def _together(one: list[float], other: list[float]) -> list[float]:
    rows, total, *buckets = map(sum, zip(one, other, strict=True))
    return [rows, total, min(one[2], other[2]), max(one[3], other[3]), *buckets[2:]]


Logs = dict[NodeId, tuple[int, list[str]]]
"""The logged rows of a batch by model: how many, and the texts of the first ones."""


def logs_of(rows: Iterable[Mapping[str, Any]]) -> Logs:
    """Return the logged rows among what a batch counted."""
    prefix = f"{LOGS} "
    return {
        NodeId.parse(name.removeprefix(prefix)): (log["rows"], list(log["texts"]))
        for row in rows
        for name, log in row.items()
        if name.startswith(prefix) and log and log["rows"]
    }


def logs_together(one: Logs, other: Logs) -> Logs:
    """Return the logged rows of two batches."""
    logs = dict(one)
    for name, (rows, texts) in other.items():
        before = logs.get(name, (0, []))
        logs[name] = before[0] + rows, [*before[1], *texts]
    return logs


def sum_counts(batches: Iterable[Mapping[str, int]]) -> RecordCounts:
    by_fate: dict[str, dict[NodeId, int]] = {"rows": {}, "skipped": {}, "dead_letters": {}, "tests": {}}
    of_models: dict[str, dict[str, int]] = {}
    for numbers in batches:
        for name, number in numbers.items():
            fate, _, whose = name.partition(" ")
            if " " in whose:
                bad = of_models.setdefault(fate, {})
                bad[whose] = bad.get(whose, 0) + number
            elif number or fate == "rows":
                totals, id_ = by_fate[fate], NodeId.parse(whose)
                totals[id_] = totals.get(id_, 0) + number
    return RecordCounts(
        by_fate["skipped"], by_fate["dead_letters"], by_fate["tests"], of_models, by_fate["rows"]
    )
