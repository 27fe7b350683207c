"""Queries run on Spark over topics that are files of raw records, as batch and as streams."""

import json
from datetime import datetime, timezone

import pytest
from msgspec.structs import replace
from planned_projects import planned
from support.building import sink, stored
from support.plans import by, dedupe, group, select, topic, watermark, where

from millstream.engine.queries.counts import without_bad
from millstream.engine.spark.settings import CHAINS
from millstream.queries.emit.steps import CountedView, DedupeView, SqlView
from millstream.queries.lock import Lock, LockedGroup, Member
from millstream.queries.values import PerBatch

RAW = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, headers array<struct<key: string, value: binary>>"
TIME = datetime(2024, 1, 1, tzinfo=timezone.utc)
EVENTS = [
    {"a": 1, "b": 10, "type": "x", "ts": "2024-01-01T00:00:10Z"},
    {"a": 1, "b": 20, "type": "y", "ts": "2024-01-01T00:10:10Z"},
    {"a": 2, "b": 5, "type": "x", "ts": "2024-01-01T00:00:20Z"},
    {"a": 3, "type": "z", "ts": "2024-01-01T03:00:00Z"},
]


@pytest.fixture
def records(spark, tmp_path):
    """Write records to the files of a topic; texts are written as they are."""
    place = tmp_path / "topic"
    place.mkdir()
    written = []

    def write(*values):
        rows = [
            (
                b"k",
                (v if isinstance(v, str) else json.dumps(v)).encode(),
                "events",
                0,
                len(written) + i,
                TIME,
                None,
            )
            for i, v in enumerate(values)
        ]
        written.extend(rows)
        spark.createDataFrame(rows, RAW).coalesce(1).write.mode("append").parquet(str(place))
        return place

    return write


def step(spark, each):
    match each:
        case SqlView():
            spark.sql(each.sql).createOrReplaceTempView(each.name)
        case CountedView():
            without_bad(spark.table(each.of), each).createOrReplaceTempView(each.name)
        case DedupeView():
            found = spark.table(each.of)
            keys = list(each.keys)
            found = found.dropDuplicatesWithinWatermark(keys) if each.within else found.dropDuplicates(keys)
            found.createOrReplaceTempView(each.name)


def as_batch(spark, query, place):
    spark.read.schema(RAW).parquet(str(place)).createOrReplaceTempView("events_records")
    for each in query.steps:
        step(spark, each)
    return as_records(spark.sql(query.sql).collect())


def calling(spark, function):
    """Make a function known as a fan-out calls it: for the rows that want it, failures as values."""
    from pyspark.sql.functions import udf

    def guarded(wanted, *arguments):
        if not wanted:
            return None, None
        try:
            return function(*arguments), None
        except ValueError as error:
            return None, repr(error)

    made = udf(guarded, "struct<value:int,error:string>", useArrow=False).asNondeterministic()
    spark.udf.register(f"{function.__name__}_where", made)


def as_records(rows):
    found = {}
    for row in rows:
        value = row["value"] and json.loads(bytes(row["value"]))
        found.setdefault(row["topic"], []).append((row["key"] and bytes(row["key"]).decode(), value))
    return {name: sorted(found[name], key=repr) for name in found}


class Stream:
    """A query over one checkpoint, run over what there is, again and again."""

    def __init__(self, spark, place, checkpoint):
        self.spark, self.place, self.checkpoint = spark, place, checkpoint

    def run(self, query):
        self.spark.conf.set(CHAINS, str(query.chained).lower())
        stream = self.spark.readStream.schema(RAW).option("maxFilesPerTrigger", 100).parquet(str(self.place))
        stream.createOrReplaceTempView("events_records")
        for each in query.steps:
            step(self.spark, each)
        rows = []

        def keep(batch, number):
            if isinstance(query.deliver, PerBatch):
                batch.persist()
                batch.createOrReplaceTempView(query.deliver.view)
                for each in query.deliver.deliveries:
                    of = batch.sparkSession.sql(each.sql).collect()
                    rows.extend((each.target.model, row.asDict(recursive=True)) for row in of)
                batch.unpersist()
            else:
                rows.extend(batch.collect())

        writer = self.spark.sql(query.sql).writeStream.outputMode(query.output_mode).foreachBatch(keep)
        running = writer.option("checkpointLocation", str(self.checkpoint)).trigger(availableNow=True).start()
        running.awaitTermination()
        self.plan = running._jsq.explainInternal(False)
        self.progress = running.lastProgress
        return rows if isinstance(query.deliver, PerBatch) else as_records(rows)


@pytest.fixture
def stream(spark, records, tmp_path):
    return Stream(spark, records(*EVENTS), tmp_path / "checkpoint")


def test_a_fan_out_gives_each_model_its_records(spark, records):
    events = topic("a", "b", "type")
    (query,) = planned(
        sink(select(where(events, "type = 'x'"), "a", "c = b + 1"), "xs", "a"),
        sink(where(events, "a = 1"), "ones", "type"),
    ).queries
    assert as_batch(spark, query, records(*EVENTS)) == {
        "xs": [("1", {"a": 1, "c": 11}), ("2", {"a": 2, "c": 6})],
        "ones": [("x", {"a": 1, "b": 10, "type": "x"}), ("y", {"a": 1, "b": 20, "type": "y"})],
    }
    plan = spark.sql(query.sql)._jdf.queryExecution().executedPlan().toString()
    assert plan.count("FileScan") == 1
    assert plan.count("Generate inline(array(coalesce(from_json") <= 1


def test_dead_letters_keep_their_bytes_and_say_why(spark, records):
    events = replace(topic("a"), on_bad_record="dead_letter")
    (query,) = planned(sink(where(events, "a > 1"), "big", "a")).queries
    spark.read.schema(RAW).parquet(str(records({"a": 2}, "{oops", {"a": "no"}))).createOrReplaceTempView(
        "events_records"
    )
    rows = spark.sql(query.sql).collect()
    assert sorted((r["topic"], bytes(r["value"])) for r in rows) == [
        ("big", b'{"a":2}'), ("events.dead_letter", b'{"a": "no"}'), ("events.dead_letter", b"{oops"),
    ]  # fmt: skip
    letter = next(r for r in rows if bytes(r["value"]) == b"{oops")
    said = {h["key"]: bytes(h["value"]).decode() for h in letter["headers"]}
    assert said["millstream.offset"] == "1"
    assert said["millstream.reason"].startswith("not JSON: Unexpected character ('o' (code 111))")
    (reason,) = (
        bytes(h["value"]).decode()
        for r in rows
        for h in r["headers"]
        if bytes(r["value"]) == b'{"a": "no"}' and h["key"] == "millstream.reason"
    )
    assert reason == "field a: 'no' is not an int"


def test_headers_and_several_keys(spark, records):
    events = topic("a", "type")
    (query,) = planned(sink(where(events, "a = 3"), "threes", "a", "type", headers={"kind": "type"})).queries
    place = records(*EVENTS)
    assert as_batch(spark, query, place) == {"threes": [('{"a":3,"type":"z"}', {"a": 3, "type": "z"})]}
    (row,) = spark.sql(query.sql).collect()
    headers = [(h["key"], bytes(h["value"])) for h in row["headers"]]
    assert headers == [("millstream.position", b"events-0-3"), ("kind", b"z")]


def test_a_python_function_is_called_once_for_the_rows_that_it_is_for(spark, records):
    called = spark.sparkContext.accumulator(0)

    def py_double(a):
        called.add(1)
        return a * 2

    calling(spark, py_double)
    scored = select(where(topic("a"), "a < 3"), "a", "d = py_double(a)")
    (query,) = planned(sink(where(scored, "d > 2"), "doubled"), sink(topic("a"), "all")).queries
    found = as_batch(spark, query, records(*EVENTS))
    assert found["doubled"] == [(None, {"a": 2, "d": 4})]
    assert len(found["all"]) == len(EVENTS)
    assert called.value == 3  # events whose `a` is below 3


def test_a_row_on_which_a_function_fails_is_a_dead_letter(spark, records):
    def py_double(a):
        if a == 3:
            raise ValueError(a)
        return a * 2

    calling(spark, py_double)
    output = sink(select(topic("a"), "d = py_double(a)"), "doubled")
    (query,) = planned(replace(output, options={**output.options, "on_bad_record": "dead_letter"})).queries
    found = as_batch(spark, query, records(*EVENTS))
    assert [value for _, value in found["events.dead_letter"]] == [EVENTS[-1]]
    assert len(found["doubled"]) == len(EVENTS) - 1


def test_aggregates_of_one_group_read_and_move_once(spark, stream, records):
    together = by(where(topic("a", "b"), "a < 3"), "a")
    (query,) = planned(
        sink(select(group(together, ("a",), "n = count(*)"), "a", "n"), "counts", "a"),
        sink(select(where(group(together, ("a",), "top = max(b)"), "top > 9"), "a", "top"), "tops", "a"),
    ).queries
    assert stream.run(query) == {
        "counts": [("1", {"a": 1, "n": 2}), ("2", {"a": 2, "n": 1})],
        "tops": [("1", {"a": 1, "top": 20})],
    }
    assert "ReusedExchange" in stream.plan
    assert stream.progress["numInputRows"] == len(EVENTS)
    records({"a": 2, "b": 50})
    assert stream.run(query) == {"counts": [("2", {"a": 2, "n": 2})], "tops": [("2", {"a": 2, "top": 50})]}


def former(output):
    """Return an output as that of a model that has left the query."""
    return replace(output, model=f"former.events_by_a:{output.model}")


def left(lock, *outputs):
    """Return a lock with models that have left the query."""
    names = {output.model: former(output).model for output in outputs}
    (group,) = lock.groups
    members = (Member(tuple(names.get(model, model) for model in each.models)) for each in group.members)
    return Lock((LockedGroup(group.name, tuple(members)),))


def test_a_former_model_leaves_the_others_their_state(spark, stream, records):
    together = by(topic("a", "b"), "a")
    counts = sink(select(group(together, ("a",), "n = count(*)"), "a", "n"), "counts", "a")
    tops = sink(group(together, ("a",), "top = max(b)"), "tops", "a")
    both = planned(tops, counts)
    stream.run(both.queries[0])
    records({"a": 2, "b": 50})
    (query,) = planned(counts, former(tops), lock=left(both.lock, tops)).queries
    assert stream.run(query) == {"counts": [("2", {"a": 2, "n": 2})]}
    assert [each["numRowsTotal"] for each in stream.progress["stateOperators"]] == [3, 3]
    assert [each["numRowsUpdated"] for each in stream.progress["stateOperators"]] == [0, 1]


def test_a_former_model_leaves_others_the_state_that_it_shares(spark, stream, records):
    counts = group(by(topic("a", "b"), "a"), ("a",), "n = count(*)", "top = max(b)", label="counts")
    numbers, tops = (
        sink(select(counts, "a", "n"), "numbers", "a"),
        sink(select(counts, "a", "top"), "tops", "a"),
    )
    both = planned(numbers, tops)
    stream.run(both.queries[0])
    records({"a": 2, "b": 50})
    (query,) = planned(numbers, former(tops), lock=left(both.lock, tops)).queries
    assert stream.run(query) == {"numbers": [("2", {"a": 2, "n": 2})]}


def test_windows_of_a_former_model_close_in_silence(spark, stream, records):
    together = by(watermark(topic("a", "ts")), "a")
    hours, days = (
        sink(
            select(
                group(
                    together, (f"window = window(ts, '{length} hours')", "a"), "n = count(*)", emit="on_close"
                ),
                "a",
                "n",
            ),
            name,
            "a",
        )
        for name, length in (("hours", 1), ("days", 2))
    )
    both = planned(hours, days)
    stream.run(both.queries[0])
    records({"a": 9, "ts": "2024-01-03T00:00:00Z"})
    (query,) = planned(days, former(hours), lock=left(both.lock, hours)).queries
    found = stream.run(query)
    assert set(found) == {"days"}
    assert [each["numRowsTotal"] for each in stream.progress["stateOperators"]] == [0, 1]


def test_windows_of_a_group(spark, stream):
    together = by(watermark(topic("a", "ts")), "a")
    keys = ("window = window(ts, '1 hour')", "a")
    (query,) = planned(
        sink(
            select(group(together, keys, "n = count(*)", emit="on_close"), "a", "start = window.start", "n"),
            "hours",
            "a",
        ),
        sink(
            select(
                group(together, ("window = window(ts, '2 hours')", "a"), "n = count(*)", emit="on_close"),
                "a",
                "n",
            ),
            "days",
            "a",
        ),
    ).queries
    assert query.output_mode == "append"
    found = stream.run(query)
    assert [(key, value["n"]) for key, value in found["hours"]] == [("1", 2), ("2", 1)]
    assert found["days"] == [("1", {"a": 1, "n": 2}), ("2", {"a": 2, "n": 1})]
    assert "ReusedExchange" in stream.plan


def test_each_branch_forgets_by_the_watermark(spark, stream, records):
    # Spark gives no watermark to a state above an exchange that it reuses, if only the rows below have one.
    together = by(watermark(topic("a", "ts")), "a")
    (query,) = planned(
        sink(group(together, ("window = window(ts, '1 hour')", "a"), "n = count(*)"), "hours", "window", "a"),
        sink(group(together, ("window = window(ts, '2 hours')", "a"), "n = count(*)"), "days", "window", "a"),
    ).queries
    stream.run(query)
    records({"a": 1, "ts": "2024-01-01T00:00:30Z"}, {"a": 4, "ts": "2024-01-01T06:00:00Z"})
    found = stream.run(query)
    assert [len(found[name]) for name in ("hours", "days")] == [1, 1]  # the late row counts nowhere
    assert [each["numRowsTotal"] for each in stream.progress["stateOperators"]] == [1, 1]
    assert "ReusedExchange" in stream.plan


def test_tables_and_topics_above_one_state_read_each_batch(spark, stream):
    counts = group(by(topic("a"), "a"), ("a",), "n = count(*)", label="counts")
    (query,) = planned(stored(where(counts, "n > 1"), "busy", "a"), sink(counts, "all_counts", "a")).queries
    rows = stream.run(query)
    # No other row was there before.
    assert [(r["a"], r["_deleted"]) for model, r in rows if model == "model.busy"] == [(1, False)]
    assert len([r for model, r in rows if model == "model.all_counts"]) == 3
    assert len(stream.progress["stateOperators"]) == 1


def test_tables_above_several_states_read_each_batch(spark, stream):
    together = by(topic("a", "b"), "a")
    (query,) = planned(
        stored(group(together, ("a",), "n = count(*)"), "counts", "a"),
        stored(where(group(together, ("a",), "top = max(b)"), "top > 9"), "tops", "a", delete_when="a = 1"),
    ).queries
    rows = stream.run(query)
    assert sorted(r["n"] for model, r in rows if model == "model.counts") == [1, 1, 2]
    assert {r["a"]: r["_deleted"] for model, r in rows if model == "model.tops"} == {1: True}
    assert stream.progress["numInputRows"] == len(EVENTS)


def test_a_dedupe_is_a_step(spark, stream, records):
    (query,) = planned(sink(select(dedupe(by(topic("a"), "a"), "a"), "a"), "firsts", "a")).queries
    assert stream.run(query) == {"firsts": [("1", {"a": 1}), ("2", {"a": 2}), ("3", {"a": 3})]}
    records({"a": 3}, {"a": 4})
    assert stream.run(query) == {"firsts": [("4", {"a": 4})]}


def test_nothing_recorded_is_an_empty_lock():
    assert planned().lock == Lock()
