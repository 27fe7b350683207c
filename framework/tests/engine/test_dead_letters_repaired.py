"""Dead letters of a broken function are replayed once it is fixed: each record is in the output exactly once.

`MILLSTREAM_LETTERS=100000 uv run pytest -m long framework/tests/engine/test_dead_letters_repaired.py` has more.
"""

import json
import os
import subprocess
from collections import Counter

import pytest
from confluent_kafka import Producer
from support.commands import MILLSTREAM
from support.runs import built, create_topics, headers, received, send, statuses
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Update
from millstream.project.pins import Subject, encode_subject, version_of

pytestmark = [pytest.mark.long, SPARK_WARNINGS]

COUNT = int(os.environ.get("MILLSTREAM_LETTERS", "1000"))
BROKEN = """
    def share(value: float) -> float:
        return 1 / (value - 7)
"""
FIXED = """
    def share(value: float) -> float:
        return value - 7
"""
SHARES = (
    "{{ config(materialized='sink', on_bad_record='dead_letter') }} "
    "select id, share(value) as share from {{ source('web', 'events') }}"
)


def test_letters_of_a_broken_function_reach_the_output_once(shop, first_spark):
    shop.source(on_bad_record="dead_letter")
    shop.write("macros/share.py", BROKEN)
    shop.model("shares", SHARES)
    forged = [("millstream.offset", b"-1"), ("millstream.source", b"source.web.other"), ("trace", b"t")]
    shop.send(*(event(number, value=7.0 + number % 2) for number in range(2 * COUNT)))
    send(shop.bootstrap, {"events": [("b", "no JSON")]}, headers=forged)
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"shares": "success"}
    letters = received(shop.bootstrap, "events.dead_letter")
    assert len(letters) == COUNT + 1
    last = next(letter for letter in letters if letter.value() == b"no JSON")
    names = [name for name, _ in last.headers()]
    assert len(names) == len(set(names)), "forged headers are left out"
    assert headers(last)["millstream.offset"] == str(2 * COUNT)
    assert headers(last)["millstream.source"] == "source.web.events"
    assert headers(last)["trace"] == "t"
    assert {headers(letter).get("millstream.model") for letter in letters} == {"shares", None}

    shop.write("macros/share.py", FIXED)
    assert replayed(shop, "shares") == COUNT
    assert replayed(shop, "shares", code=2) is None
    built(shop.root, first_spark)
    ids = Counter(row["id"] for row in shop.values("shares"))
    assert len(ids) == 2 * COUNT
    assert set(ids.values()) == {1}
    assert len(received(shop.bootstrap, "events.dead_letter")) == COUNT + 1


def test_the_dry_run_names_models_that_have_read_the_records_since(shop, first_spark):
    shop.source(on_bad_record="dead_letter")
    shop.write("macros/share.py", BROKEN)
    shop.model("shares", SHARES)
    shop.model("others", SHARES.replace("share(value) as share", "share(value + 1) as share"))
    shop.send(*(event(number, value=7.0) for number in range(3)), event(3, value=1.0))
    built(shop.root, first_spark)
    assert replay_plan(shop)["already_read"] == {}
    shop.write("macros/share.py", FIXED)
    built(shop.root, first_spark, intent=Update(frozenset({NodeId("model", "shares")})))
    plan = replay_plan(shop)
    assert (plan["readers"], plan["already_read"]) == (
        {"events": ["others", "shares"]},
        {"events": {"shares": 3}},
    )


def replay_plan(shop):
    command = [*MILLSTREAM, "dead-letters", "replay", "--output", "json"]
    return json.loads(subprocess.run(command, cwd=shop.root, capture_output=True, check=True).stdout)


def test_aborted_records_are_in_no_output(shop, first_spark):
    shop.model("plain", "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}")
    shop.send(event(0))
    aborted(shop.bootstrap, event(1))
    shop.send(event(2))
    built(shop.root, first_spark)
    aborted(shop.bootstrap, event(3))
    built(shop.root, first_spark)
    assert sorted(row["id"] for row in shop.values("plain")) == [0, 2]


def replayed(shop, name, code=0):
    command = [*MILLSTREAM, "dead-letters", "replay", name, "--yes", "--output", "json"]
    done = subprocess.run(command, cwd=shop.root, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout).get("records")


def aborted(bootstrap, row):
    """Send a record in a transaction that is aborted."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "aborted"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("events", key=row[0], value=json.dumps(row[1]))
    producer.flush(10)
    producer.abort_transaction(30)


TYPES = {"id": "long", "name": "string"}
AVRO = {"type": "record", "name": "Row", "fields": [{"name": name, "type": of} for name, of in TYPES.items()]}
PROTO = 'syntax = "proto3"; message Row { int64 id = 1; string name = 2; }'
SOURCES = """
sources:
- name: web
  topics:
  - {name: avros, schema: registry, on_bad_record: dead_letter, key: {name: k, format: avro, schema: registry}}
  - {name: protos, format: protobuf, schema: schemas/row.proto, on_bad_record: dead_letter}
"""


def test_letters_of_binary_formats_are_replayed_byte_by_byte(shop, first_spark):
    shop.write("models/web.yml", SOURCES)
    shop.write("schemas/row.proto", PROTO)
    for subject, schema, id_ in (("avros-value", AVRO, 7), ("avros-key", "long", 8)):
        pin = Subject(subject, "NONE", (version_of(1, id_, "AVRO", json.dumps(schema)),))
        shop.write(f"schemas/registry/{subject}.json", encode_subject(pin))
    sink = "{{ config(materialized='sink') }} select id, name"
    shop.model("avro_rows", f"{sink}, k from {{{{ source('web', 'avros') }}}}")
    shop.model("proto_rows", f"{sink} from {{{{ source('web', 'protos') }}}}")
    header, key = b"\0\0\0\0\7", b"\0\0\0\0\10\2"
    bad = {
        "avros": [
            (key, header + b"\2\2\xff"), (key, header + b"\2\2a\0"), (key, header[:3]), (key, b"\1" + header[1:]),
            (b"\xff\0\xfe", header + b"\2\2a"), (key + b"\0", header + b"\2\2a"), (key, b""),
        ],
        "protos": [("k", b"\x08"), ("k", b"\x12\x01\xff"), (b"\0\xff", b"\x09\0\0"), ("k", bytes(range(256)))],
    }  # fmt: skip
    good = {"avros": [(key, header + b"\2\2a")], "protos": [("k", b"\x08\x01")]}
    create_topics(shop.bootstrap, *bad, partitions=1)
    send(shop.bootstrap, {topic: [*good[topic], *bad[topic]] for topic in bad})
    built(shop.root, first_spark)
    sent = {}
    for topic, records in bad.items():
        sent[topic] = [(record.key(), record.value()) for record in received(shop.bootstrap, topic)][1:]
        letters = received(shop.bootstrap, f"{topic}.dead_letter")
        assert [(letter.key(), letter.value()) for letter in letters] == sent[topic], topic
        assert len(sent[topic]) == len(records)
        assert replayed(shop, topic) == len(records)
        again = [(record.key(), record.value()) for record in received(shop.bootstrap, topic)]
        assert again[1 + len(records) :] == sent[topic], topic
    built(shop.root, first_spark)
    for topic in bad:
        letters = [
            (record.key(), record.value()) for record in received(shop.bootstrap, f"{topic}.dead_letter")
        ]
        assert letters == sent[topic] * 2, topic
    assert [row["id"] for name in ("avro_rows", "proto_rows") for row in shop.values(name)] == [1, 1]
