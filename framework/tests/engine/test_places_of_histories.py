"""Where the history of a topic can be, which partitions it has, and in which formats the topic is."""

import io
import json
from collections import Counter
from datetime import timedelta

import fastavro
import pytest
from engine.test_histories import TOTALS, stored_totals, totals_of
from support.delta_tables import failure, good_build
from support.histories import START, append_history, forget, history_table, row, send_events
from support.iceberg_tables import create, profiles
from support.protobufs import messages_of
from support.runs import built, create_topics, headers, received, send, table_rows
from support.shops import PROFILES, Shop
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.deploy.planning.intents import Apply, FullRefresh

pytestmark = SPARK_WARNINGS


def until(number):
    return f"'{START + timedelta(seconds=20 * number):%Y-%m-%d %H:%M:%S}'"


def test_partitions_that_the_history_lacks(tmp_path, broker, first_spark):
    """The topic has two with rows, one whose records are gone, and one that never had any."""
    shop = Shop(tmp_path, broker)
    create_topics(broker, "events", partitions=4)
    shop.source(history="{delta_table: old}")
    shop.model("totals", TOTALS)
    append_history(shop, *range(40), partitions=2)
    send_events(shop, *range(60), partitions=2)
    send_events(shop, *range(5), first=2)
    forget(shop, 5, partition=2)
    forget(shop, 10, partition=0)
    diagnostic = failure(shop, first_spark)
    assert diagnostic.code == "MS646"
    assert diagnostic.message == (
        "records 0 to 4 of partition 2 of the topic 'events' are missing: its history has those before 0, and "
        "the topic those from 5 on"
    )
    assert "`offsets: {2: 5}`" in diagnostic.help
    shop.source(history="{delta_table: old, offsets: {2: 5}}")
    good_build(shop, first_spark)
    assert stored_totals(shop) == totals_of(range(60))
    send_events(shop, *range(60, 70), first=2)
    send_events(shop, *range(70, 80), first=3)
    good_build(shop, first_spark)
    assert stored_totals(shop) == totals_of(range(80))
    # By a time, the partition without older records shows nothing either.
    shop.source(history=f"{{delta_table: old, until: {until(40)}}}")
    with pytest.raises(MillstreamError) as raised:
        built(shop.root, first_spark, intent=FullRefresh())
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "MS646"
    assert "partition 2 of the topic 'events' has no record from before" in diagnostic.message
    assert "`offsets: {2: 5}`" in diagnostic.help
    shop.source(history=f"{{delta_table: old, until: {until(40)}, offsets: {{2: 5}}}}")
    good_build(shop, first_spark, intent=FullRefresh())
    assert stored_totals(shop) == totals_of(range(80))


RAW = """
    {{ config(materialized='table') }}
    select user, id, kind, value, at, _partition, _offset, _timestamp from {{ source('lake', 'raw') }}
"""
LIVE = """
    sources:
      - name: lake
        topics:
          - name: raw
            topic: events
            on_bad_record: dead_letter
            key: {name: user, type: string}
            columns:
              - {name: id, type: int}
              - {name: kind, type: string}
              - {name: value, type: double}
              - {name: at, type: timestamp}
"""


@pytest.mark.long
def test_a_table_of_the_project_is_the_history_of_its_topic(shop, first_spark):
    """The raw events that a project stores, before and after a model reads them as a history."""
    shop.write("models/raw.yml", LIVE)
    shop.model("raw", RAW)
    send_events(shop, *range(40))
    good_build(shop, first_spark)
    forget(shop, 40)
    send_events(shop, *range(40, 50))
    raw_table = "delta_table: .millstream/local/tables/raw"
    shop.source(history=f"{{{raw_table}}}", on_bad_record="dead_letter")
    shop.model("totals", TOTALS)
    good_build(shop, first_spark)
    assert stored_totals(shop) == totals_of(range(50))
    send(shop.bootstrap, {"events": [("bad", "not json")]})
    send_events(shop, *range(51, 60))
    good_build(shop, first_spark)
    live = [*range(50), *range(51, 60)]
    assert stored_totals(shop) == totals_of(live)
    # What the table has is enough, whatever the topic forgets.
    forget(shop, 60)
    shop.model("totals", TOTALS.replace("sum(value)", "sum(value + 1)"))
    good_build(shop, first_spark, intent=Apply({}))
    assert stored_totals(shop) == totals_of(live, more=1)
    assert sorted(r["_offset"] for r in table_rows(shop.root, "model.raw")) == live
    # A bad record is not in the table.
    send(shop.bootstrap, {"events": [("bad", "not json")]})
    good_build(shop, first_spark)
    forget(shop, 61)
    shop.model("again", TOTALS)
    diagnostic = failure(shop, first_spark)
    assert "record 60 of partition 0 of the topic 'events' is missing" in diagnostic.message
    assert "`offsets: {0: 61}`" in diagnostic.help
    shop.source(history=f"{{{raw_table}, offsets: {{0: 61}}}}", on_bad_record="dead_letter")
    good_build(shop, first_spark)
    assert {r["user"]: (r["events"], r["total"]) for r in table_rows(shop.root, "model.again")} == totals_of(
        live
    )
    with pytest.raises(MillstreamError) as raised:
        built(shop.root, first_spark, intent=FullRefresh())
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.location.path) == ("MS646", "models/sources.yml")
    assert (
        diagnostic.message
        == "the rows of 'raw' are the history of the topic 'events': --full-refresh would remove them"
    )
    good_build(shop, first_spark, intent=FullRefresh(), models=["model.totals", "model.again"])
    assert stored_totals(shop) == totals_of(live, more=1)


@pytest.mark.long
def test_a_table_that_the_project_stores_in_a_catalog_is_the_history(shop, first_spark, catalog):
    namespace = catalog.new_namespace()
    options = catalog.settings(namespace)
    shop.write("profiles.yml", PROFILES.replace("kafka: embedded", f"kafka: embedded, tables: {options}"))
    shop.write("models/raw.yml", LIVE)
    shop.model("raw", RAW.replace("'table'", "'table', store='iceberg'"))
    send_events(shop, *range(40))
    good_build(shop, first_spark)
    forget(shop, 40)
    send_events(shop, *range(40, 50))
    shop.source(history=f"{{iceberg_table: {namespace}.raw, catalog: lake}}", on_bad_record="dead_letter")
    shop.model("totals", TOTALS)
    good_build(shop, first_spark)
    assert stored_totals(shop) == totals_of(range(50))
    with pytest.raises(MillstreamError) as raised:
        built(shop.root, first_spark, intent=FullRefresh())
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "MS646"
    assert "--full-refresh would remove them" in diagnostic.message
    good_build(shop, first_spark, intent=FullRefresh(), models=["model.totals"])
    assert stored_totals(shop) == totals_of(range(50))


@pytest.mark.long
def test_an_iceberg_table_in_a_catalog(shop, first_spark):
    shop.write("profiles.yml", profiles(shop))
    shop.source(history="{iceberg_table: shop.old, catalog: lake}")
    shop.model("totals", TOTALS)
    # Iceberg has no type for a moment in milliseconds, and pyiceberg reads the zone that pyarrow writes.
    table = create(shop, "old", history_table(0).schema)
    for numbers in (range(20, 40), range(20)):
        table.append(history_table(*numbers))
    send_events(shop, *range(60))
    forget(shop, 30)
    good_build(shop, first_spark)
    assert stored_totals(shop) == totals_of(range(60))
    table.append(history_table(*range(40, 55)))
    forget(shop, 50)
    shop.model("totals", TOTALS.replace("sum(value)", "sum(value + 1)"))
    good_build(shop, first_spark, intent=Apply({}))
    assert stored_totals(shop) == totals_of(range(60), more=1)


AVRO = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "kind", "type": ["null", "string"], "default": None},
        {"name": "value", "type": "double"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
    ],
}
PROTO = """
syntax = "proto3";
import "google/protobuf/timestamp.proto";
message Event {
  int32 id = 1;
  optional string kind = 2;
  double value = 3;
  google.protobuf.Timestamp at = 4;
}
"""
ENCODED = """
    sources:
      - name: encoded
        key: {name: user, type: string}
        on_bad_record: dead_letter
        topics:
          - {name: in_avro, format: avro, schema: schemas/event.avsc, history: {delta_table: old}}
          - {name: in_protobuf, format: protobuf, schema: schemas/event.proto, history: {delta_table: old}}
"""
COPY = """
    {{{{ config(materialized='table') }}}}
    select id, kind, value, at, user from {{{{ source('encoded', 'in_{}') }}}}
"""
TESTED = """
    models:
      - name: kept_{}
        columns:
          - name: value
            tests:
              - expression: {{expression: "value < 1000", severity: drop}}
              - expression: {{expression: "value > 5", severity: warn}}
"""


def avro_bytes(event):
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, AVRO, event)
    return stream.getvalue()


@pytest.mark.long
def test_formats_with_schemas(shop, first_spark, tmp_path):
    """Other software writes the live records, of which some are bad; data tests see the rows of both parts."""
    shop.write("models/encoded.yml", ENCODED)
    shop.write("schemas/event.avsc", json.dumps(AVRO))
    shop.write("schemas/event.proto", PROTO)
    event_class = messages_of(tmp_path / "proto", {"event.proto": PROTO})("Event")
    topics = {"avro": avro_bytes, "protobuf": lambda event: event_class(**event).SerializeToString()}
    create_topics(shop.bootstrap, *(f"in_{name}" for name in topics), partitions=1)
    append_history(shop, *range(20))
    events = [
        {name: part for name, part in row(number).items() if name != "user"} for number in range(15, 40)
    ]
    events[-1]["value"] = 2000.0
    for name, encode in topics.items():
        shop.model(f"kept_{name}", COPY.format(name))
        shop.write(f"models/kept_{name}.yml", TESTED.format(name))
        values = [(row(number)["user"], encode(event)) for number, event in enumerate(events, 15)]
        send(shop.bootstrap, {f"in_{name}": [("x", b"\xff")] * 15 + values + [("x", b"\xff")]})
        forget(shop, 15, f"in_{name}")
    good_build(shop, first_spark)
    expected = Counter((r["id"], r["kind"], r["value"], r["user"]) for r in map(row, range(39)))
    for name in topics:
        stored = table_rows(shop.root, f"model.kept_{name}")
        assert Counter((r["id"], r["kind"], r["value"], r["user"]) for r in stored) == expected, name
        assert {r["at"] for r in stored} == {row(number)["at"] for number in range(39)}
        (letter,) = received(shop.bootstrap, f"in_{name}.dead_letter")
        assert dict(headers(letter))["millstream.offset"] == "40"
