"""Sinks with `guarantee: exactly_once`: a batch that is repeated sends nothing twice."""

import json
import shutil
from collections import Counter

import pytest
from confluent_kafka import Producer
from support.committed_records import committed
from support.exactly_once import MODELS, Traffic, check_once, write_models
from support.runs import built, create_topics, errors, statuses
from support.shops import Shop, event
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS
EXACTLY = """
    shop:
      target: local
      outputs:
        local: {master: "local[2]", kafka: embedded, guarantee: exactly_once, spark: {spark.sql.shuffle.partitions: 2}}
"""
PLAIN = """
    {{{{ config(materialized='sink', key='user', guarantee='{0}') }}}}
    select id, user, value from {{{{ source('web', 'events') }}}} where value >= 0
"""


def forget_commits(shop):
    """Let Spark repeat the last batch of each query, as after a crash at the end of a batch."""
    for folder in (shop.root / ".millstream/local/checkpoints").glob("*/spark/commits"):
        last = max(int(file.name) for file in folder.iterdir() if file.name.isdigit())
        (folder / str(last)).unlink()


def ids(shop, topic):
    return Counter(json.loads(record.value())["id"] for record in committed(shop.bootstrap, topic))


def senders(shop):
    return json.loads((shop.root / ".millstream/local/checkpoints/transactions.json").read_text())


def written(results):
    return {result.id.partition(".")[2]: result.rows_written for result in results.results}


@pytest.mark.long
def test_repeated_batches_send_nothing_twice(tmp_path, broker, spark):
    shop = Shop(tmp_path, broker)
    create_topics(shop.bootstrap, "events")
    shop.write("profiles.yml", EXACTLY)
    write_models(shop)
    traffic = Traffic(shop.bootstrap)
    counts = Counter()
    for count in (57, 31):
        traffic.more(count)
        results, events = built(shop.root, spark)
        assert set(statuses(results).values()) == {"success"}, errors(events)
        counts.update({name: number for name, number in written(results).items() if number is not None})
        forget_commits(shop)
    # An open transaction of a process that died: nobody reads on until Kafka ends it.
    (query,) = (sender for sender in senders(shop)["queries"] if "topics" in sender)
    hanging = Producer({
        "bootstrap.servers": shop.bootstrap,
        "transactional.id": f"millstream.shop.{senders(shop)['id']}.{query}",
    })  # fmt: skip
    hanging.init_transactions(20)
    hanging.begin_transaction()
    hanging.produce("plain", json.dumps({"id": -1}))
    assert hanging.flush(20) == 0

    traffic.more(40)
    results, events = built(shop.root, spark)
    assert set(statuses(results).values()) == {"success"}, errors(events)
    counts.update({name: number for name, number in written(results).items() if number is not None})
    check_once(shop, traffic)
    assert any(record.value() is None for record in committed(shop.bootstrap, "even"))
    # Offsets of transactions are no records.
    assert counts == {name: len(committed(shop.bootstrap, name)) for name in MODELS if name != "newest"}


def test_a_model_that_joins_after_a_crash_gets_the_repeated_batch(shop, spark):
    shop.model("plain", PLAIN.format("exactly_once"))
    shop.send(event(1), event(2))
    built(shop.root, spark)
    shop.send(event(3), event(4, value=-1.0))
    built(shop.root, spark)
    forget_commits(shop)
    shop.model("others", PLAIN.format("exactly_once").replace("value >= 0", "id > 1"))
    shop.send(event(5))
    results, events = built(shop.root, spark)
    assert statuses(results) == {"plain": "success", "others": "success"}, errors(events)
    assert ids(shop, "plain") == {1: 1, 2: 1, 3: 1, 5: 1}
    assert ids(shop, "others") == {2: 1, 3: 1, 4: 1, 5: 1}


@pytest.mark.long
def test_the_guarantee_can_be_changed(shop, spark):
    """At least once sends the records of a repeated batch again; after a change to exactly once, no batch does."""
    shop.model("plain", PLAIN.format("at_least_once"))
    shop.send(event(1))
    built(shop.root, spark)
    forget_commits(shop)
    results, _ = built(shop.root, spark)
    assert (ids(shop, "plain"), written(results)) == ({1: 2}, {"plain": 1})
    shop.model("plain", PLAIN.format("exactly_once"))
    shop.send(event(2))
    results, _ = built(shop.root, spark)
    assert (ids(shop, "plain"), written(results)) == ({1: 2, 2: 1}, {"plain": 1})
    forget_commits(shop)
    results, _ = built(shop.root, spark)
    assert (ids(shop, "plain"), written(results)) == ({1: 2, 2: 1}, {"plain": 0})


@pytest.mark.long
def test_an_old_copy_of_a_checkpoint_loses_nothing(shop, spark):
    """Its batches have numbers of batches that were sent, but other records."""
    shop.model("plain", PLAIN.format("exactly_once"))
    checkpoints, copy = shop.root / ".millstream/local/checkpoints", shop.root / "copy"
    for number in range(3):
        shop.send(event(number))
        built(shop.root, spark)
        if number == 0:
            shutil.copytree(checkpoints, copy)
    shutil.rmtree(checkpoints)
    shutil.copytree(copy, checkpoints)
    shop.send(event(3))
    built(shop.root, spark)
    shop.send(event(4))
    built(shop.root, spark)
    assert set(ids(shop, "plain")) == {0, 1, 2, 3, 4}
