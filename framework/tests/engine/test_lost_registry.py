"""A schema registry dies while a run needs it: known schemas still decode, and records of new ones wait for it."""

import json
import os
import signal

import pytest
from click.testing import CliRunner
from confluent_kafka.admin import AdminClient
from confluent_kafka.schema_registry import Schema
from support.avro import framed
from support.registry import needs_java
from support.running import running
from support.runs import create_topics, headers, received, send
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream
from millstream.deploy.values import BatchCompleted, LeftOut, QueryFailed, SetupStep
from millstream.kafka.registry.local import registry_status, registry_url, revive_registry

pytestmark = [needs_java, SPARK_WARNINGS, pytest.mark.long]

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
NEW_ORDER = ORDER | {"fields": [{"name": "note", "type": "string", "default": ""}, *ORDER["fields"]]}
CLICK = 'syntax = "proto3"; message Click { int64 id = 1; }'
MOVED_CLICK = 'syntax = "proto3"; message Other {} message Click { int64 id = 1; string note = 2; }'
TOPICS = """
sources:
  - name: web
    topics:
      - {name: orders, topic: %(orders)s, key: {name: k, format: avro, schema: registry}, schema: registry, on_bad_record: dead_letter}
      - {name: clicks, topic: %(clicks)s, schema: registry, message: Click, on_bad_record: dead_letter}
"""
SINK = "{{ config(materialized='sink') }}"
PROFILE = """
shop: {target: local, outputs: {local: {master: "local[2]", kafka: embedded, schema_registry: {url: '%s'}}}}
"""


def click(id_, position, number):
    return b"\0" + id_.to_bytes(4, "big") + position + bytes((8, number))


@pytest.mark.parametrize("is_local", [False, True], ids=["elsewhere", "on this machine"])
def test_a_registry_that_dies_while_a_run_needs_it(shop, registry, first_spark, monkeypatch, is_local):
    # Tests share the registry, and so the subjects.
    orders, clicks = ("own_orders", "own_clicks") if is_local else ("other_orders", "other_clicks")
    shop.write("models/web.yml", TOPICS % {"orders": orders, "clicks": clicks})
    if not is_local:
        shop.write("profiles.yml", PROFILE % registry_url(registry_status(shop.root).address))
    shop.model("orders_seen", SINK + "select id, k.id as k from {{ source('web', 'orders') }}")
    # Fails on none of the records, if it is tried alone.
    shop.model("odd_seen", SINK + "select id from {{ source('web', 'orders') }} where _offset % 2 = 1")
    shop.model("clicks_seen", SINK + "select id from {{ source('web', 'clicks') }}")

    def register(subject, schema):
        kind = "AVRO" if isinstance(schema, dict) else "PROTOBUF"
        text = schema if isinstance(schema, str) else json.dumps(schema)
        return registry.register_schema(subject, Schema(text, kind))

    def send_rows(first, *schemas):
        """Send a record with each of these schemas: of the order, the key and the click, with their ids."""
        for number, (order, key, clicked) in enumerate(schemas, first):
            row = {"id": number, "note": "n"}
            send(
                shop.bootstrap,
                {
                    orders: [(framed(*key, row), framed(*order, row))],
                    clicks: [(None, click(*clicked, number))],
                },
            )

    def read():
        """Return how many records were read of each topic, in complete batches."""
        sums = {"orders_topics": 0, "clicks_topics": 0}
        for event in run.of(BatchCompleted):
            sums[event.query] += event.batch.rows
        return list(sums.values())

    old = (
        (register(f"{orders}-value", ORDER), ORDER), (register(f"{orders}-key", ORDER), ORDER),
        (register(f"{clicks}-value", CLICK), b"\0"),
    )  # fmt: skip
    monkeypatch.chdir(shop.root)
    pulled = CliRunner().invoke(millstream, ["schemas", "pull"])
    assert pulled.exit_code == 0, pulled.output
    create_topics(shop.bootstrap, orders, clicks, partitions=1)
    send_rows(1, old)
    with running(shop.root, first_spark) as run:
        run.until(lambda: read() == [1, 1])
        new = (
            (register(f"{orders}-value", NEW_ORDER), NEW_ORDER), (register(f"{orders}-key", NEW_ORDER), NEW_ORDER),
            (register(f"{clicks}-value", MOVED_CLICK), b"\2\2"),
        )  # fmt: skip
        os.kill(registry_status(shop.root).pid, signal.SIGKILL)
        send_rows(2, old)
        run.until(lambda: read() == [2, 2])
        send_rows(3, new, old)
        if is_local:
            run.until(lambda: SetupStep("registry", "died; restarted", done=True) in run.of(SetupStep))
        else:
            # After some failures, models that fail on their own would be left out.
            run.until(
                lambda: (
                    {event.query for event in run.of(QueryFailed) if event.failures > 2}
                    == {"orders_topics", "clicks_topics"}
                )
            )
            assert revive_registry(shop.root)
        run.until(lambda: read() == [4, 4])
    for failed in run.of(QueryFailed):
        assert (failed.diagnostic.code, failed.diagnostic.location.path) == ("MS891", "profiles.yml")
    assert run.of(LeftOut) == []
    topics = AdminClient({"bootstrap.servers": shop.bootstrap}).list_topics(timeout=10).topics
    letters = {f"{orders}.dead_letter", f"{clicks}.dead_letter"} & topics.keys()
    assert [
        headers(record)["millstream.reason"] for name in letters for record in received(shop.bootstrap, name)
    ] == []
    assert sorted((row["id"], row["k"]) for row in shop.values("orders_seen")) == [
        (n, n) for n in range(1, 5)
    ]
    assert sorted(row["id"] for row in shop.values("odd_seen")) == [2, 4]
    assert sorted(row["id"] for row in shop.values("clicks_seen")) == [1, 2, 3, 4]
