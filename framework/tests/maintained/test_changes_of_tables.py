"""Sinks that send changes: a reader that applies them to a dict has the table, and each row before is the one it had."""

import json
from collections import Counter
from decimal import Decimal

import duckdb
import jsonschema
import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from deltalake import DeltaTable
from support.long import BUILDS
from support.runs import built, errors, headers, job_of, received, statuses, table_rows
from support.shops import Shop
from support.spark import SPARK_WARNINGS

from maintained.test_topics_of_tables import KINDS, LATEST, Events, build, kill
from millstream.compile import compile_project
from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, Update
from millstream.deploy.stages.roll_back import roll_back
from millstream.docs.export import exported_project
from millstream.docs.exporters import write_document
from millstream.kafka.topic_decoding import of_sink, show_record
from millstream.project.folders import broker_folder
from millstream.project.load import load_project
from millstream.queries.verdict import AcceptedModels
from millstream.stores.delta.folder import delta_folder

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

SINK = "materialized='sink', emit='changes', partitions=1"
LARGE = f"""
    {{{{ config({SINK}, key='id') }}}}
    select id, upper(user) as user, nullif(kind, 'c') as kind from {{{{ ref('latest') }}}} where value > 1
"""
OFTEN = (
    f"{{{{ config({SINK}, key='kind', tombstones=false) }}}} select kind, n, most from {{{{ ref('kinds') }}}}"
)
MODELS = {"latest": LATEST, "kinds": KINDS, "large": LARGE, "often": OFTEN}
QUERIES = {
    "large": 'select id, upper("user") as "user", nullif(kind, \'c\') as kind from rows where value > 1',
    "often": "select kind, n, most from rows",
}
TABLES = {"large": "latest", "often": "kinds"}


class Reader:
    """A reader of a topic of changes, which knows nothing of Millstream but the envelope."""

    def __init__(self, bootstrap, topic, *, tombstones, again=False):
        self.bootstrap, self.topic, self.tombstones, self.again = bootstrap, topic, tombstones, again
        """With `again`, records may come twice, after a crash."""
        self.offset, self.rows, self.ops, self.lsn = 0, {}, [], 0
        self.deleted = None
        """The key of the delete whose tombstone comes next."""

    def read(self):
        config = {"bootstrap.servers": self.bootstrap, "group.id": "reader", "enable.partition.eof": True}
        consumer = Consumer(config)
        try:
            consumer.assign([TopicPartition(self.topic, 0, self.offset)])
            while (message := consumer.poll(20)).error() is None:
                self.offset = message.offset() + 1
                self.apply(message.key(), message.value())
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
        finally:
            consumer.close()
        assert self.deleted is None
        return self

    def apply(self, key, value):
        if value is None:
            assert self.tombstones
            self.ops.append("tombstone")
            deleted, self.deleted = self.deleted, None
            assert deleted in (key, None)
            self.rows.pop(key, None)
            return
        assert self.again or self.deleted is None, "a tombstone follows its delete"
        change = json.loads(value)
        assert list(change) == ["before", "after", "source", "op", "ts_ms"]
        before, after, op, source = (change[name] for name in ("before", "after", "op", "source"))
        had = self.rows.get(key)
        if not self.again and op != "r":
            assert before == had, f"{op} of {key}: the reader has {had}, and not {before}"
        assert (before is None, after is None) == {
            "r": (True, False), "c": (True, False), "u": (False, False), "d": (False, True),
        }[op]  # fmt: skip
        assert before != after
        assert source["snapshot"] == ("true" if op == "r" else "false")
        assert source["lsn"] >= self.lsn
        assert 0 <= change["ts_ms"] - source["ts_ms"] < 600_000
        self.lsn = source["lsn"]
        self.ops.append(op)
        if op == "d":
            self.rows.pop(key, None)
            self.deleted = key if self.tombstones else None
        else:
            self.rows[key] = after


def table(root, name):
    return DeltaTable(
        delta_folder(load_project(root, None, None, None).target, root).read(NodeId("model", name))
    )


def expected(shop, topic):
    """Return what DuckDB selects from the Delta table."""
    database = duckdb.connect()
    database.register("rows", table(shop.root, TABLES[topic]).to_pyarrow_table())
    cursor = database.execute(QUERIES[topic])
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def check(shop, reader):
    key = "id" if reader.topic == "large" else "kind"
    expected_rows = {str(row[key]).encode(): row for row in expected(shop, reader.topic)}
    assert reader.read().rows == expected_rows
    newest = table(shop.root, TABLES[reader.topic]).version()
    assert reader.lsn <= newest


def check_description(shop):
    """Check that all records are as AsyncAPI says, and that they can be shown."""
    compiled = compile_project(shop.root)
    document = json.loads(write_document("asyncapi", exported_project(compiled)))
    for name in ("large", "often"):
        schema = document["components"]["schemas"][f"model_{name}"]
        reading = of_sink(compiled.manifest.nodes[f"model.{name}"])
        for message in received(shop.bootstrap, name):
            shown = show_record(message, reading)
            assert shown.wrong == {}
            if message.value() is not None:
                jsonschema.validate(json.loads(message.value()), schema)
                assert shown.value == json.loads(message.value(), parse_float=Decimal)


@pytest.fixture
def readers(shop):
    for name, sql in MODELS.items():
        shop.model(name, sql)
    return [
        Reader(shop.bootstrap, "large", tombstones=True),
        Reader(shop.bootstrap, "often", tombstones=False),
    ]


def test_a_reader_of_changes_has_the_table_after_each_batch(shop, first_spark, readers):
    events = Events(shop, 3)
    events.send(20)
    build(shop, first_spark)
    for reader in readers:
        check(shop, reader)
        assert set(reader.ops) <= {"r", "tombstone"}
    for round_ in range(BUILDS):
        # The tables change several times until the topics follow.
        for _ in range(1 + round_ % 2 * 2):
            events.send(12)
            build(shop, first_spark, "latest")
            build(shop, first_spark, "kinds")
        build(shop, first_spark, "large", "often")
        for reader in readers:
            check(shop, reader)
    assert {"r", "c", "u", "d"} <= {*readers[0].ops, *readers[1].ops}
    assert set(readers[1].ops) <= {"r", "c", "u", "d"}
    assert readers[0].ops.count("tombstone") >= readers[0].ops.count("d") > 0
    check_description(shop)
    # Nothing changes, and nothing that the sink selects.
    counts = [len(reader.ops) for reader in readers]
    build(shop, first_spark)
    number, (user, kind, value) = next(row for row in events.rows.items() if row[1][2] > 1)
    shop.send((user, {"id": number, "kind": kind, "value": value}))
    build(shop, first_spark)
    assert counts == [len(reader.read().ops) for reader in readers]


def test_an_edit_needs_a_rebuild_which_sends_all_rows_again(shop, first_spark, readers):
    (reader, _) = readers
    events = Events(shop, 4)
    events.send(15)
    build(shop, first_spark)
    check(shop, reader)
    shop.model("large", LARGE.replace("upper(user)", "lower(user)"))
    _, build_events = built(shop.root, first_spark, intent=Update(accepted=AcceptedModels(everything=True)))
    assert [diagnostic.code for diagnostic in errors(build_events)] == ["MS870"]
    build(shop, first_spark, intent=Apply({}))
    with pytest.raises(MillstreamError, match="MS888"):
        roll_back(job_of(shop.root), shop.root / ".millstream", lambda _: None, first_spark)
    expected_rows = {
        str(row["id"]).encode(): row | {"user": row["user"].lower()} for row in expected(shop, "large")
    }
    before = len(reader.ops)
    assert reader.read().rows == expected_rows
    assert set(reader.ops[before:]) <= {"r", "tombstone"}
    events.send(10)
    build(shop, first_spark)
    expected_rows = {
        str(row["id"]).encode(): row | {"user": row["user"].lower()} for row in expected(shop, "large")
    }
    assert reader.read().rows == expected_rows


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once"])
@pytest.mark.parametrize("moment", ["before", "during", "after"])
def test_a_killed_build_leaves_changes_that_the_next_one_continues(
    shop, first_spark, readers, moment, guarantee
):
    (reader, _) = readers
    shop.model("large", LARGE.replace("key='id'", f"key='id', guarantee='{guarantee}'"))
    reader.again = guarantee == "at_least_once"
    events = Events(shop, 5)
    for first in (True, False):
        events.send(20)
        build(shop, first_spark, "latest")
        if not first:
            kill(shop, "large", moment)
            events.send(10)  # The batch runs again over the versions that it had.
        build(shop, first_spark)
        check(shop, reader)
    if guarantee == "at_least_once" and moment == "after":
        # All records of the batch came twice, byte for byte.
        sent = Counter(
            (headers(m)["millstream.batch"], m.key(), m.value()) for m in received(shop.bootstrap, "large")
        )
        last = max((batch for batch, _, _ in sent), key=lambda batch: int(batch.rpartition("/")[2]))
        assert {count for (batch, _, _), count in sent.items() if batch == last} == {1}
        assert {count for (batch, _, _), count in sent.items() if batch != last} == {1, 2}


CONSUMER = """
    sources:
      - name: shop
        topics:
          - name: often
            columns:
              - {name: op, type: string, tests: [not_null, {accepted_values: {values: [c, u, d, r]}}]}
              - {name: before, type: "struct<kind: string, n: bigint, most: double>"}
              - {name: after, type: "struct<kind: string, n: bigint, most: double>"}
              - {name: source, type: "struct<lsn: bigint>"}
              - {name: ts_ms, type: bigint, tests: [not_null]}
            on_bad_record: dead_letter
"""
COPY = """
    {{ config(materialized='table', unique_key='kind', order_by='lsn', delete_when="op = 'd'") }}
    select coalesce(after.kind, before.kind) as kind, after.n, after.most, op, source.lsn from {{ source('shop', 'often') }}
"""


def test_another_project_follows_the_topic_as_one_of_debezium(shop, first_spark, readers, tmp_path):
    other = Shop(tmp_path / "other", shop.bootstrap)
    broker_link = broker_folder(other.root)
    broker_link.parent.mkdir()
    broker_link.symlink_to(broker_folder(shop.root).resolve(), target_is_directory=True)
    other.write("models/sources.yml", CONSUMER)
    other.model("copy", COPY)
    events = Events(shop, 6)
    for _ in range(2):
        events.send(12)
        build(shop, first_spark)
        results, build_events = built(other.root, first_spark)
        assert not errors(build_events), errors(build_events)
        assert set(statuses(results).values()) == {"success"}
        copied = [
            {name: row[name] for name in ("kind", "n", "most")}
            for row in table_rows(other.root, "model.copy")
        ]
        assert sorted(copied, key=str) == sorted(expected(shop, "often"), key=str)


def test_models_and_tests_read_the_rows_of_a_topic_of_changes(shop, first_spark, readers):
    shop.model(
        "again",
        "{{ config(materialized='table', unique_key='id') }} select id, kind from {{ ref('large') }}",
    )
    events = Events(shop, 7)
    for _ in range(2):
        events.send(15)
        build(shop, first_spark)
        build(shop, first_spark, "again")
        stored = {(row["id"], row["kind"]) for row in table_rows(shop.root, "model.again")}
        assert stored == {(row["id"], row["kind"]) for row in expected(shop, "large")}
    assert [record.value() is None for record in received(shop.bootstrap, "large")].count(True) > 0
