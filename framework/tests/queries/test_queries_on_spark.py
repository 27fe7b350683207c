"""Queries run on Spark over topics that are files of raw records, as batch and as streams."""

import json
from datetime import datetime, timezone

import pytest
from msgspec.structs import replace
from planned_projects import planned
from support.building import sink, stored
from support.plans import by, dedupe, group, select, topic, watermark, where

from millstream.core.node_id import NodeId
from millstream.engine.queries.counts import without_bad
from millstream.engine.spark.settings import CHAINS
from millstream.queries.emit.steps import CountedView, DedupeView, SqlView
from millstream.queries.lock import GroupMember, Lock, LockedGroup
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
    folder = tmp_path / "topic"
    folder.mkdir()
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
        spark.createDataFrame(rows, RAW).coalesce(1).write.mode("append").parquet(str(folder))
        return folder

    return write


def step(spark, view):
    match view:
        case SqlView():
            spark.sql(view.sql).createOrReplaceTempView(view.name)
        case CountedView():
            without_bad(spark.table(view.of), view).createOrReplaceTempView(view.name)
        case DedupeView():
            frame = spark.table(view.of)
            keys = list(view.keys)
            frame = frame.dropDuplicatesWithinWatermark(keys) if view.within else frame.dropDuplicates(keys)
            frame.createOrReplaceTempView(view.name)


def as_batch(spark, query, folder):
    spark.read.schema(RAW).parquet(str(folder)).createOrReplaceTempView("events_records")
    for view in query.steps:
        step(spark, view)
    return as_records(spark.sql(query.sql).collect())


def calling(spark, function):
    """Make a function known as a fan-out calls it: for the rows that want it, failures as values."""
    from pyspark.sql.functions import udf

    def guarded(is_called, *arguments):
        if not is_called:
            return None, None
        try:
            return function(*arguments), None
        except ValueError as error:
            return None, repr(error)

    registered = udf(guarded, "struct<value:int,error:string>", useArrow=False).asNondeterministic()
    spark.udf.register(f"{function.__name__}_where", registered)


def as_records(rows):
    by_topic = {}
    for row in rows:
        value = row["value"] and json.loads(bytes(row["value"]))
        by_topic.setdefault(row["topic"], []).append((row["key"] and bytes(row["key"]).decode(), value))
    return {name: sorted(by_topic[name], key=repr) for name in by_topic}


class Stream:
    """A query over one checkpoint, run over what there is, again and again."""

    def __init__(self, spark, folder, checkpoint):
        self.spark, self.folder, self.checkpoint = spark, folder, checkpoint

    def run(self, query):
        self.spark.conf.set(CHAINS, str(query.chained).lower())
        stream = self.spark.readStream.schema(RAW).option("maxFilesPerTrigger", 100).parquet(str(self.folder))
        stream.createOrReplaceTempView("events_records")
        for view in query.steps:
            step(self.spark, view)
        rows = []

        def keep(batch, number):
            if isinstance(query.deliver, PerBatch):
                batch.persist()
                batch.createOrReplaceTempView(query.deliver.view)
                for delivery in query.deliver.deliveries:
                    of = batch.sparkSession.sql(delivery.sql).collect()
                    rows.extend((delivery.target.model, row.asDict(recursive=True)) for row in of)
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
    message = {h["key"]: bytes(h["value"]).decode() for h in letter["headers"]}
    assert message["millstream.offset"] == "1"
    assert message["millstream.reason"].startswith("not JSON: Unexpected character ('o' (code 111))")
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
    folder = records(*EVENTS)
    assert as_batch(spark, query, folder) == {"threes": [('{"a":3,"type":"z"}', {"a": 3, "type": "z"})]}
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
    by_topic = as_batch(spark, query, records(*EVENTS))
    assert by_topic["doubled"] == [(None, {"a": 2, "d": 4})]
    assert len(by_topic["all"]) == len(EVENTS)
    assert called.value == 3  # events whose `a` is below 3


def test_a_row_on_which_a_function_fails_is_a_dead_letter(spark, records):
    def py_double(a):
        if a == 3:
            raise ValueError(a)
        return a * 2

    calling(spark, py_double)
    output = sink(select(topic("a"), "d = py_double(a)"), "doubled")
    (query,) = planned(replace(output, options={**output.options, "on_bad_record": "dead_letter"})).queries
    by_topic = as_batch(spark, query, records(*EVENTS))
    assert [value for _, value in by_topic["events.dead_letter"]] == [EVENTS[-1]]
    assert len(by_topic["doubled"]) == len(EVENTS) - 1


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
    return replace(output, model=NodeId("former", f"events_by_a:{output.model}"))


def left(lock, *outputs):
    """Return a lock with models that have left the query."""
    names = {output.model: former(output).model for output in outputs}
    (group,) = lock.groups
    members = (
        GroupMember(tuple(names.get(model, model) for model in member.models)) for member in group.members
    )
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
    assert [state["numRowsTotal"] for state in stream.progress["stateOperators"]] == [3, 3]
    assert [state["numRowsUpdated"] for state in stream.progress["stateOperators"]] == [0, 1]


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
    by_topic = stream.run(query)
    assert set(by_topic) == {"days"}
    assert [state["numRowsTotal"] for state in stream.progress["stateOperators"]] == [0, 1]


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
    by_topic = stream.run(query)
    assert [(key, value["n"]) for key, value in by_topic["hours"]] == [("1", 2), ("2", 1)]
    assert by_topic["days"] == [("1", {"a": 1, "n": 2}), ("2", {"a": 2, "n": 1})]
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
    by_topic = stream.run(query)
    assert [len(by_topic[name]) for name in ("hours", "days")] == [1, 1]  # the late row counts nowhere
    assert [state["numRowsTotal"] for state in stream.progress["stateOperators"]] == [1, 1]
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
