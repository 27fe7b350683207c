"""Records that are larger than Kafka accepts do not stop a query that skips them or sends dead letters."""

import json
from zoneinfo import ZoneInfo

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from support.committed_records import committed
from support.runs import built, errors, headers, job_of, statuses
from support.shops import Shop
from support.spark import SPARK_WARNINGS

from millstream.deploy.checkpoints.files import checkpoint_folder, read_record
from millstream.deploy.checkpoints.held_records import HeldRecords
from millstream.deploy.checkpoints.pending_swap import PendingSwap
from millstream.engine.queries.record_sizes import record_sizes
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import cluster_of
from millstream.ops.dead_letters.replaying import plan_replay, replay_letters
from millstream.project.folders import checkpoints_of
from millstream.project.load import load_project
from millstream.stores.files import LocalFiles

pytestmark = SPARK_WARNINGS

PROFILES = """
    shop:
      target: local
      outputs:
        local: {{master: "local[2]", kafka: embedded, guarantee: {0}, spark: {{spark.sql.shuffle.partitions: 2}}}}
"""
SINK = """
    {{{{ config(materialized='sink', key='user'{0}) }}}}
    select id, user, kind from {{{{ source('web', 'events') }}}}
"""
NARROW = ", topic_config={'max.message.bytes': 2000}"
MODELS = {
    "passed": "",
    "skipped": ", on_bad_record='skip'",
    "narrow": NARROW,
    "compressed": f"{NARROW}, producer={{'compression.type': 'gzip'}}",
}
"""Options of the models; the source sends dead letters."""
SMALL, TIGHT, LARGE = 10, 5_000, 3_000_000
GOOD = [SMALL, TIGHT, LARGE, SMALL]
"""The lengths of the values of good records; after them, one of each of the latter two is bad."""


def create_events(broker):
    topic = NewTopic("events", 1, 1, config={"max.message.bytes": "20000000"})
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([topic])["events"].result(60)


def large_shop(tmp_path, broker, guarantee="at_least_once"):
    shop = Shop(tmp_path, broker)
    create_events(broker)
    shop.write("profiles.yml", PROFILES.format(guarantee))
    shop.source(on_bad_record="dead_letter")
    return shop


def send_large(shop, *values, key="a", source_headers=()):
    producer = Producer({"bootstrap.servers": shop.bootstrap, "message.max.bytes": 30_000_000})
    for value in values:
        producer.produce("events", value, key, headers=list(source_headers))
    assert producer.flush(30) == 0


def good(number, length):
    return json.dumps({"id": number, "kind": "x" * length, "value": 1.0})


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
def test_what_is_too_large_is_cut_or_left_out(tmp_path, broker, spark, guarantee):
    shop = large_shop(tmp_path, broker, guarantee)
    for name, options in MODELS.items():
        shop.model(name, SINK.format(options))
    bad = [b"no JSON " + b"y" * length for length in (TIGHT, LARGE)]
    send_large(shop, *(good(number, length) for number, length in enumerate(GOOD)), *bad)
    results, events = built(shop.root, spark)
    assert errors(events) == []
    assert set(statuses(results).values()) == {"success"}

    def ids(topic):
        return [json.loads(record.value())["id"] for record in committed(broker, topic)]

    assert {name: ids(name) for name in MODELS} == {
        "passed": [0, 1, 3],
        "skipped": [0, 1, 3],
        "narrow": [0, 3],
        "compressed": [0, 1, 3],
    }
    letters = sorted(
        (
            (
                int(letter_headers["millstream.offset"]),
                letter_headers.get("millstream.model", ""),
                letter_headers.get("millstream.cut"),
                letter,
            )
            for letter in committed(broker, "events.dead_letter")
            for letter_headers in [headers(letter)]
        ),
        key=lambda letter: letter[:2],
    )
    assert [letter[:2] for letter in letters] == [
        (1, "narrow"), (2, "compressed"), (2, "narrow"), (2, "passed"), (4, ""), (5, ""),
    ]  # fmt: skip
    (uncut, cut) = letters[4:]
    assert (uncut[2], uncut[3].value()) == (None, bad[0])
    assert int(cut[2]) > len(bad[1])
    assert 1_000_000 < len(cut[3].value()) < 1_048_576
    assert bad[1].startswith(cut[3].value())
    assert cut[3].key() == b"a"
    reason = headers(letters[3][3])["millstream.reason"]
    assert reason.startswith("passed: a record of 3,0")
    assert reason.endswith(" bytes is larger than Kafka accepts in topic passed")
    fates = {result.id.partition(".")[2]: result.fates for result in results.results}
    # Bad records count where their dead letters are sent, by one of the queries.
    accounted = {
        name: (counts.read, counts.written, counts.skipped, counts.dead_letters + counts.filtered)
        for name, counts in fates.items()
    }
    assert accounted == {
        "passed": (6, 3, 0, 3), "skipped": (6, 3, 1, 2), "narrow": (6, 2, 0, 4), "compressed": (6, 3, 0, 3),
    }  # fmt: skip
    assert {counts.filtered for counts in fates.values()} <= {0, 2}


def test_a_replay_sends_the_whole_records_of_cut_letters(tmp_path, broker, spark):
    shop = large_shop(tmp_path, broker)
    shop.model("passed", SINK.format(""))
    sent = [good(0, LARGE).encode(), b"no JSON " + b"y" * LARGE, b"no JSON"]
    send_large(shop, *sent, source_headers=[("trace", b"t")])
    built(shop.root, spark)
    project = load_project(shop.root, None, None, None)
    admin = admin_of(cluster_of(project.target, broker, shop.root))
    done = replay_letters(admin, "events.dead_letter", lambda _: True, ZoneInfo("UTC"), force=False)
    assert (done.letters, done.records) == ({"due": 3}, {"events": 3})
    again = committed(broker, "events")[3:]
    assert sorted(record.value() for record in again) == sorted(sent)
    assert {dict(record.headers())["trace"] for record in again} == {b"t"}
    assert {record.timestamp()[1] for record in again} == {
        record.timestamp()[1] for record in committed(broker, "events")[:3]
    }
    # Without the whole records, there is nothing to send.
    for future in admin.client.delete_records([TopicPartition("events", 0, 3)]).values():
        future.result(20)
    lost = plan_replay(admin, "events.dead_letter", lambda _: True, force=True)
    assert lost.letters == {"lost": 2, "due": 1}


def test_held_records_are_sent_in_the_same_way(tmp_path, broker, spark):
    shop = large_shop(tmp_path, broker)
    shop.model("passed", SINK.format(""))
    send_large(shop, good(0, SMALL))
    built(shop.root, spark)
    job = job_of(shop.root)
    (query,) = job.physical.queries
    files = LocalFiles()
    checkpoint = checkpoint_folder(checkpoints_of(job.project.target, shop.root), query.name)
    cluster = cluster_of(job.project.target, broker, shop.root)
    record = read_record(files, checkpoint)
    rows = [
        (
            "passed",
            bytearray(b"a"),
            bytearray(b"x" * size),
            [("millstream.position", bytearray(b"events-0-7"))],
        )
        for size in (SMALL, LARGE)
    ]
    columns = "topic string, key binary, value binary, headers array<struct<key: string, value: binary>>"
    held = spark.createDataFrame(rows, columns).selectExpr("*", "0 as _batch")
    held.write.parquet(f"{checkpoint.held(record)}/0")
    sizes = record_sizes(admin_of(cluster), query)
    HeldRecords(spark, files, cluster, "once").send(
        checkpoint, PendingSwap(record, "", (), sizes=sizes.option)
    )
    assert [len(record.value()) for record in committed(broker, "passed")][1:] == [SMALL]
    (letter,) = committed(broker, "events.dead_letter")
    letter_headers = headers(letter)
    assert [letter_headers[f"millstream.{name}"] for name in ("topic", "partition", "offset")] == [
        "events",
        "0",
        "7",
    ]


def test_by_default_the_query_stops(tmp_path, broker, spark):
    shop = large_shop(tmp_path, broker)
    shop.source()
    shop.model("passed", SINK.format(""))
    send_large(shop, good(0, LARGE))
    _, events = built(shop.root, spark)
    assert [diagnostic.code for diagnostic in errors(events)] == ["MS695"]
    # Its first remedy.
    larger = ", producer={'max.request.size': 9000000}, topic_config={'max.message.bytes': 9000000}"
    shop.model("others", SINK.format(larger))
    results, events = built(shop.root, spark)
    assert statuses(results)["others"] == "success"


def test_a_large_key_and_headers_of_a_dead_letter_are_cut(tmp_path, broker, spark):
    shop = large_shop(tmp_path, broker)
    shop.model("passed", SINK.format(""))
    long = [("trace", b"t" * 1_100_000), ("a", b"1")]
    send_large(shop, b"no JSON", key=b"k" * 1_200_000, source_headers=long)
    _, events = built(shop.root, spark)
    assert errors(events) == []
    (letter,) = committed(broker, "events.dead_letter")
    letter_headers = headers(letter)
    assert (letter_headers["millstream.offset"], letter.value()) == ("0", b"no JSON")
    assert int(letter_headers["millstream.cut"]) > 2_300_000
    assert set(letter.key()) == set(b"k")
    assert "trace" not in letter_headers


def test_an_aggregate_says_itself_what_happens_to_its_large_records(tmp_path, broker, spark):
    shop = large_shop(tmp_path, broker)
    sql = """
        {{{{ config(materialized='sink', key='user', on_bad_record='{0}') }}}}
        select user, max(kind) as kind from {{{{ source('web', 'events') }}}} group by user
    """
    shop.model("skipped", sql.format("skip"))
    shop.model("sent", sql.format("dead_letter"))
    send_large(shop, good(0, LARGE))
    send_large(shop, good(1, SMALL), key="b")
    results, events = built(shop.root, spark)
    assert errors(events) == []
    assert [record.key() for topic in ("skipped", "sent") for record in committed(broker, topic)] == [
        b"b"
    ] * 2
    (letter,) = committed(broker, "events.dead_letter")
    assert headers(letter)["millstream.model"] == "sent"
    counted = {result.id: (result.skipped, result.dead_letters) for result in results.results}
    assert counted == {
        "model.skipped": ({"model.skipped": 1}, {}),
        "model.sent": ({}, {"model.sent": 1}),
    }
