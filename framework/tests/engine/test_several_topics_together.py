"""What works with one topic works with several, by a list and by a pattern: replay, duplicates, environments."""

import json
import subprocess

import pytest
from confluent_kafka import Producer
from engine.test_environments import alerts_of, production, stored_alerts  # noqa: F401 - a fixture
from support.commands import MILLSTREAM
from support.runs import built, create_topics, headers, received, send
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import Apply

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

FORMS = {"list": {"topics": "[eu, us]"}, "pattern": {"topic_pattern": "eu|us"}}
PLAIN = "{{ config(materialized='sink') }} select id, _topic as region from {{ source('web', 'events') }}"
SHARE = """
    def share(value: float) -> float:
        return 1 / ({})
"""
SHARES = (
    "{{ config(materialized='sink', on_bad_record='dead_letter') }} "
    "select id, share(value) as share, _topic as region from {{ source('web', 'events') }}"
)


@pytest.mark.parametrize("form", FORMS)
def test_letters_are_replayed_to_the_topic_that_they_come_from(shop, first_spark, form):
    create_topics(shop.bootstrap, "eu", "us", partitions=1)
    shop.source(on_bad_record="dead_letter", **FORMS[form])
    shop.write("macros/share.py", SHARE.format("value - 7"))
    shop.model("shares", SHARES)
    shop.send(event(0, value=7.0), event(1), topic="eu")
    shop.send(event(2), event(3, value=7.0), topic="us")
    built(shop.root, first_spark)
    letters = [
        headers(letter)["millstream.topic"] for letter in received(shop.bootstrap, "events.dead_letter")
    ]
    assert sorted(letters) == ["eu", "us"]
    shop.write("macros/share.py", SHARE.format("value"))
    command = [*MILLSTREAM, "dead-letters", "replay", "events.dead_letter", "--yes", "--output", "json"]
    done = subprocess.run(command, cwd=shop.root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["records"] == 2
    built(shop.root, first_spark)
    assert sorted((row["id"], row["region"]) for row in shop.values("shares")) == [
        (0, "eu"), (1, "eu"), (2, "us"), (3, "us"),
    ]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_records_that_were_sent_again_are_read_once_in_each_topic(shop, first_spark, form):
    create_topics(shop.bootstrap, "eu", "us", partitions=2)
    shop.source(deduplicate="position", **FORMS[form])
    shop.model("plain", PLAIN)

    def sent(*records):
        producer = Producer({"bootstrap.servers": shop.bootstrap})
        for topic, id_, position in records:
            record_headers = [("millstream.position", position), ("millstream.batch", "q/a/0")]
            producer.produce(topic, json.dumps({"id": id_}), partition=0, headers=record_headers)
        assert producer.flush(30) == 0

    # A sender can send records of one position to several topics.
    sent(("eu", 0, "in-0-0"), ("us", 1, "in-0-0"), ("eu", 0, "in-0-0"), ("us", 2, "in-0-1"))
    built(shop.root, first_spark)
    sent(("us", 1, "in-0-0"), ("us", 2, "in-0-1"), ("eu", 3, "in-0-1"))
    built(shop.root, first_spark)
    assert sorted((row["id"], row["region"]) for row in shop.values("plain")) == [
        (0, "eu"), (1, "us"), (2, "us"), (3, "eu"),
    ]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_an_environment_reads_the_topics_of_production(production, tmp_path, first_spark, form):  # noqa: F811
    events = production.names["events"]
    create_topics(production.broker, f"{events}_us", partitions=1)
    # The pattern also matches what the models write, in production and in environments.
    written = {
        "list": f"topics: [{events}, {events}_us]",
        "pattern": f"topic_pattern: '.*{production.name}_.*'",
    }
    sources = production.root / "models/sources.yml"
    sources.write_text(sources.read_text().replace(f"topic: {events}", written[form]))
    rows = [event(n, "ab"[n % 2], float(n), "xyz"[n % 3]) for n in range(12)]
    send(production.broker, {events: rows[:6], f"{events}_us": [*rows[6:], ("a", "not json")]})
    production.build(first_spark)
    alice = production.copy(tmp_path / "alice", "alice")
    alice.edit("enriched", "value >= 0", "value >= 2")
    assert alice.build(first_spark, intent=Apply()) >= {"enriched", "alerts"}
    more = [event(n, "ab"[n % 2], float(n), "xyz"[n % 3]) for n in range(12, 20)]
    send(production.broker, {f"{events}_us": more})
    for project in (production, alice):
        project.build(first_spark)
    stored = [row | {"user": user} for user, row in (*rows, *more)]
    assert stored_alerts(production, production.names["alerts"]) == alerts_of(stored, 10)
    assert stored_alerts(production, f"{alice.prefix}{production.names['alerts']}") == alerts_of(stored, 10)
    letters = received(production.broker, f"{alice.prefix}events.dead_letter")
    assert [headers(letter)["millstream.topic"] for letter in letters] == [f"{events}_us"]
