"""Spark's real-time mode on real Kafka."""

import json
import time
from contextlib import ExitStack, contextmanager

from confluent_kafka import Consumer, TopicPartition
from msgspec.structs import replace
from support.runs import job_of
from support.spark import SPARK_WARNINGS

from millstream.deploy.engine import start_engine
from millstream.deploy.stages.execute import stages_of_queries
from millstream.deploy.stages.prepare import prepare_query
from millstream.engine.queries.realtime import start_realtime

pytestmark = SPARK_WARNINGS

SINK = "{{ config(materialized='sink', key='user') }} "
EVENTS = "{{ source('web', 'events') }}"


@contextmanager
def running(shop, spark):
    """Run the only query of a project in real-time mode."""
    job = job_of(shop.root)
    (query,) = job.physical.queries
    with ExitStack() as stack:
        running_engine = stack.enter_context(
            start_engine(job, [query], shop.root / ".millstream", lambda _: None, spark)
        )
        running_engine = replace_trigger(running_engine)
        _, around = prepare_query(running_engine, query, stages_of_queries(running_engine, [query]))
        streaming = start_realtime(running_engine.spark, query, around)
        stack.callback(streaming.stop)
        yield streaming


def replace_trigger(running_engine):
    return replace(running_engine, kafka=replace(running_engine.kafka, trigger="realtime"))


@contextmanager
def listening(shop, topic):
    """Yield a function that returns what comes into a topic within a time."""
    consumer = Consumer({"bootstrap.servers": shop.bootstrap, "group.id": "tests", "fetch.wait.max.ms": 10})
    consumer.assign([TopicPartition(topic, 0, 0)])

    def take(count, seconds):
        values, until = [], time.monotonic() + seconds
        while len(values) < count and time.monotonic() < until:
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                values.append(json.loads(message.value()))
        return values

    try:
        yield take
    finally:
        consumer.close()


def test_records_come_through_while_a_batch_still_runs(shop, first_spark):
    shop.model("large", SINK + f"select user, id, upper(kind) as kind from {EVENTS} where value > 1")
    shop.model("kinds", SINK + f"select user, kind from {EVENTS} where kind <> 'z'")
    with (
        running(shop, first_spark) as streaming,
        listening(shop, "large") as large,
        listening(shop, "kinds") as kinds,
    ):
        shop.send(("a", {"id": 1, "kind": "x", "value": 2.0}))
        assert large(1, 40) == [{"user": "a", "id": 1, "kind": "X"}]
        began = time.monotonic()
        for number in range(2, 12):
            shop.send(("a", {"id": number, "kind": "y", "value": 2.0}))
            assert [row["id"] for row in large(1, 10)] == [number]
        assert time.monotonic() - began < 15, "ten batches of five seconds would take longer"
        assert len(kinds(11, 10)) == 11
        assert streaming.exception() is None
