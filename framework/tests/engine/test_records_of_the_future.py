"""Records whose event time, which is also their time in Kafka, is far ahead of the clock."""

import datetime as dt

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from support.committed_records import committed
from support.runs import built, errors, statuses
from support.spark import SPARK_WARNINGS

pytestmark = [SPARK_WARNINGS, pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])]

AHEAD = dt.datetime(2199, 1, 1, tzinfo=dt.timezone.utc)


@pytest.fixture
def ahead(shop, guarantee):
    """A shop with a record of the future among others, and a sink that sends it with its time."""
    shop.model(
        "timed",
        f"{{{{ config(materialized='sink', timestamp='at', guarantee='{guarantee}') }}}} "
        "select id, at from {{ source('web', 'events') }}",
    )
    now = dt.datetime.now(dt.timezone.utc)
    times = [AHEAD if number == 10 else now for number in range(20)]
    shop.send(*(("a", {"id": n, "at": f"{time:%Y-%m-%dT%H:%M:%SZ}"}) for n, time in enumerate(times)))
    return shop


def test_new_topics_take_any_time(ahead, first_spark):
    results, _ = built(ahead.root, first_spark)
    assert statuses(results) == {"timed": "success"}
    times = [message.timestamp()[1] for message in committed(ahead.bootstrap, "timed")]
    assert len(times) == 20
    assert max(times) == AHEAD.timestamp() * 1000


def test_a_topic_that_refuses_such_times_is_named(ahead, first_spark):
    admin = AdminClient({"bootstrap.servers": ahead.bootstrap})
    limited = NewTopic("timed", 1, 1, config={"message.timestamp.after.max.ms": "3600000"})
    admin.create_topics([limited])["timed"].result(10)
    _, events = built(ahead.root, first_spark)
    (diagnostic,) = errors(events)
    assert (diagnostic.code, diagnostic.message.partition(":")[0]) == ("MS858", "timed")
