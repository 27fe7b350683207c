"""Topics of Debezium as reference topics and as events, on Kafka and Spark."""

import json
import time

import pytest
from click.testing import CliRunner
from support.debezium import (
    CUSTOMER,
    MYSQL,
    POSTGRES,
    Recorded,
    avro_bytes,
    change,
    field,
    key_with_schema,
    text,
    with_schema,
)
from support.histories import forget
from support.runs import built, create_topics, errors, headers, received, send, table_rows
from support.shops import PROFILES, Shop
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream
from millstream.deploy.planning.intents import FullRefresh
from millstream.project.pins import Subject, encode_subject, version_of

pytestmark = SPARK_WARNINGS

SOURCES = """
sources:
  - name: shop
    format: debezium
    topics:
      - name: customers
        table: true
        key: {name: id, type: int}
        columns:
          - {name: first_name, type: string, nullable: false}
          - {name: email, type: string}
          - {name: op, from: _op}
          - {name: changed_at, type: timestamp, from: timestamp_millis(_source.ts_ms)}
      - name: changes
        topic: customers
        columns:
          - {name: id, type: int}
          - {name: first_name, type: string}
          - {name: op, type: string, from: _op}
          - {name: position, from: _source.lsn}
"""
CUSTOMERS = """
    {{ config(materialized='table', unique_key='id') }}
    select id, first_name, email, op, changed_at from {{ source('shop', 'customers') }}
"""
CHANGES = """
    {{ config(materialized='table', unique_key=['id', 'op']) }}
    select id, op, count(*) as changes, max(first_name) as first_name from {{ source('shop', 'changes') }} group by id, op
"""
COUNT = """
    {{ config(materialized='table', unique_key='all') }}
    select 'all' as all, count(*) as changes from {{ source('shop', 'changes') }} group by 'all'
"""
HISTORY = """
    {{ config(materialized='table', unique_key=['id', 'valid_from']) }}
    select id, first_name, valid_from, valid_to from {{ source('shop', 'customers') }}
"""
KINDS = """
    {{ config(materialized='table', unique_key='id') }}
    select id, words, price, at, day, big_text from {{ source('shop', 'kinds') }}
"""
PAIRS = """
    {{ config(materialized='table', unique_key=['shop', 'number']) }}
    select shop, number, word, note from {{ source('shop', 'pairs') }}
"""
COLUMNS = [field(name, "string" if name != "id" else "int32") for name in CUSTOMER]


def run(root, command, *arguments):
    result = CliRunner().invoke(millstream, [command, "--project-dir", str(root), *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def wrapped(key, value):
    """Return a record as the default converter writes it."""
    value = value and with_schema(value, *COLUMNS)
    return text(key_with_schema(key, COLUMNS[0])), text(value)


def plain(key, value):
    return text(key), text(value)


@pytest.mark.parametrize("write", [wrapped, plain])
@pytest.mark.parametrize("fast", [True, pytest.param(False, marks=pytest.mark.long)])
def test_tables_and_events_of_the_documentation(tmp_path, broker, spark, write, fast):
    shop = Shop(tmp_path, broker)
    off = "" if fast else ", fast_paths: 'off'"
    shop.write("profiles.yml", PROFILES.replace("kafka: embedded", f"kafka: embedded{off}"))
    shop.write("models/sources.yml", SOURCES)
    shop.model("kept", CUSTOMERS)
    shop.model("changes_of", CHANGES)
    shop.model("counted", COUNT)
    create_topics(broker, "customers")
    bob = CUSTOMER | {"id": 2, "first_name": "Bob"}
    first = [
        write({"id": 1}, change("r", CUSTOMER)),
        write({"id": 2}, change("c", bob)),
        write({"id": 3}, change("c", CUSTOMER | {"id": 3})),
        write({"id": 1}, change("u", CUSTOMER | {"first_name": "Anne Marie"}, {"id": 1}, source=MYSQL)),
    ]
    send(broker, {"customers": first})
    _, events = built(tmp_path, spark)
    assert not errors(events)
    rows = {row["id"]: row for row in table_rows(tmp_path, "model.kept")}
    assert {number: row["first_name"] for number, row in rows.items()} == {
        1: "Anne Marie",
        2: "Bob",
        3: "Anne",
    }
    assert rows[1]["changed_at"].timestamp() == 1465581029.1
    assert [rows[number]["op"] for number in (1, 2, 3)] == ["u", "c", "c"]
    deleted = [
        write({"id": 2}, change("d", None, bob)),
        write({"id": 2}, None),
        write({"id": 3}, change("d", None, {"id": 3})),
        *first[:1],
        first[3],
    ]
    send(broker, {"customers": deleted})
    _, events = built(tmp_path, spark)
    assert not errors(events)
    rows = {row["id"]: row["first_name"] for row in table_rows(tmp_path, "model.kept")}
    assert rows == {1: "Anne Marie"}
    changes = {(row["id"], row["op"]): row["changes"] for row in table_rows(tmp_path, "model.changes_of")}
    assert changes == {(1, "r"): 2, (1, "u"): 2, (2, "c"): 1, (2, "d"): 1, (3, "c"): 1, (3, "d"): 1}
    (counted,) = table_rows(tmp_path, "model.counted")
    assert counted["changes"] == 8


def test_bad_records_are_dead_letters(tmp_path, broker, spark):
    shop = Shop(tmp_path, broker)
    dead_letters = "    format: debezium\n    on_bad_record: dead_letter"
    shop.write("models/sources.yml", SOURCES.replace("    format: debezium", dead_letters))
    shop.model("kept", CUSTOMERS)
    shop.model("changes_of", CHANGES)
    create_topics(broker, "customers", partitions=1)
    unavailable = CUSTOMER | {"email": "__debezium_unavailable_value"}
    damaged = {
        (text({"id": 1}), text(change("t"))): "the table was truncated",
        (text({"id": 1}), text(CUSTOMER)): "the record is not a change of Debezium",
        (text({"id": 1}), text(change("c", {"id": 1}))): "field first_name: the value is missing",
        (text({"id": 1}), text(change("u", unavailable))): "field email: the database's log lacks the value",
        (text({"id": 1, "x": 1}), text(change("c", CUSTOMER))): "the key: 'x' is not a field of the schema",
        ("1", None): "the key: the value is not a JSON object",
    }
    good = [plain({"id": 1}, change("c", CUSTOMER)), plain({"id": 2}, change("c", CUSTOMER))]
    send(broker, {"customers": [*good, *damaged]})
    _, events = built(tmp_path, spark)
    assert not errors(events)
    assert {row["id"] for row in table_rows(tmp_path, "model.kept")} == {1, 2}
    reasons = [headers(letter)["millstream.reason"] for letter in received(broker, "customers.dead_letter")]
    for expected in damaged.values():
        assert any(reason.startswith(expected) for reason in reasons), (expected, reasons)


IN_AVRO = """
sources:
  - name: shop
    format: debezium
    topics:
      - name: kinds
        topic: postgres.public.kinds
        schema: registry
        table: true
        key: id
        on_bad_record: dead_letter
      - name: pairs
        topic: postgres.public.pairs
        schema: registry
        table: true
        key: [shop, number]
        on_bad_record: dead_letter
"""


def pin(root, subject, *texts):
    versions = (version_of(number, 6 + number, "AVRO", text) for number, text in enumerate(texts, 1))
    file = root / f"schemas/registry/{subject}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(encode_subject(Subject(subject, "NONE", tuple(versions))))


def with_note(text):
    """Return the schema of a table that has one more column."""
    envelope = json.loads(text)
    envelope["fields"][0]["type"][1]["fields"].append(
        {"name": "note", "type": ["null", "string"], "default": None}
    )
    return json.dumps(envelope)


def stored_pairs(root):
    rows = table_rows(root, "model.pairs_kept")
    return {(row["shop"], row["number"]): (row["word"], row["note"]) for row in rows}


def in_avro(recorded, table):
    """Return the records of a table as Confluent's serializers frame them."""

    def framed(part):
        return part and b"\0\0\0\0\7" + avro_bytes(part)

    return [(framed(record["avro_key"]), framed(record["avro_value"])) for record in recorded.of(table)]


def test_tables_in_avro_with_a_registry(tmp_path, broker, spark):
    shop, recorded = Shop(tmp_path, broker), Recorded("postgres")
    shop.write("models/sources.yml", IN_AVRO)
    shop.model("kinds_kept", KINDS)
    shop.model("pairs_kept", PAIRS)
    create_topics(broker, "postgres.public.kinds", "postgres.public.pairs")
    for table in ("kinds", "pairs"):
        first = recorded.of(table)[0]
        for part in ("key", "value"):
            schema = recorded.avro_schema(first, part)
            newer = [with_note(schema)] if (table, part) == ("pairs", "value") else []
            pin(tmp_path, f"postgres.public.{table}-{part}", schema, *newer)
        send(broker, {f"postgres.public.{table}": in_avro(recorded, table)})
    _, events = built(tmp_path, spark)
    assert not errors(events)
    kinds = {row["id"]: row for row in table_rows(tmp_path, "model.kinds_kept")}
    stored = {row["id"]: row for row in recorded.rows["kinds"]}
    # The log lacks `big_text` of row 1, and no timestamp is infinite, as that of row 4.
    assert kinds.keys() == stored.keys() - {4}
    assert kinds[1]["words"] == 'Zoë "x"'
    assert str(kinds[1]["price"]) == "1234.50"
    assert kinds[1]["at"].isoformat().startswith("2024-02-29T12:34:56.789012")
    # The database has no row of before the TRUNCATE, of which no record names the key.
    assert stored_pairs(tmp_path) == {("eu", 1): ("c", None), ("eu", 2): ("after", None)}
    letters = [
        *received(broker, "postgres.public.kinds.dead_letter"),
        *received(broker, "postgres.public.pairs.dead_letter"),
    ]
    reasons = sorted(headers(letter)["millstream.reason"] for letter in letters)
    assert [reason[:45] for reason in reasons] == [
        "field big_text: the database's log lacks the ", "field day: '-2147472692' is not a date of the", "the table was truncated: the record names no ",
    ]  # fmt: skip
    key, topic = '{"shop": "us", "number": 9}', "postgres.public.pairs"
    for value in ('{"shop": "it", "number": 9, "word": "made"}', '{"_op": "d"}'):
        run(tmp_path, "produce", "shop.pairs", "--key", key.replace("us", "it"), "--value", value)
    run(
        tmp_path,
        "produce",
        "shop.pairs",
        "--key",
        key,
        "--value",
        '{"shop": "us", "number": 9, "note": "new"}',
    )
    _, events = built(tmp_path, spark)
    assert not errors(events)
    assert stored_pairs(tmp_path).keys() == {("eu", 1), ("eu", 2), ("us", 9)}
    assert stored_pairs(tmp_path)["us", 9] == (None, "new")
    shown = run(tmp_path, "consume", topic, "--from-beginning", "--output", "json").splitlines()
    changes = [record["value"] for record in map(json.loads, shown) if record["key"] == json.loads(key)]
    assert [(change["op"], change["after"]["note"]) for change in changes] == [("c", "new")]


KEYED = """
sources:
  - name: shop
    format: debezium
    on_bad_record: skip
    topics:
      - name: postgres
        topic: postgres.public.pairs
        table: true
        key: &key [shop, number]
        columns: &columns
          - {name: number, type: int}
          - {name: shop, type: string}
          - {name: word, type: string}
      - name: mariadb
        topic: mariadb.shop.pairs
        table: true
        key: *key
        columns: *columns
      - name: kept
        topic: mariadb.shop.pairs
        table: true
        versions: all
        key: *key
        columns: *columns
      - name: changes
        topic: mariadb.shop.pairs
        columns: *columns
"""
OF_PAIRS = {
    "stored": """
        {{ config(materialized='table', unique_key=['shop', 'number']) }}
        select shop, number, word from {{ source('shop', 'postgres') }}
    """,
    "joined": """
        {{ config(materialized='table', unique_key=['shop', 'number']) }}
        select p.shop, p.number, p.word, m.word as other from {{ source('shop', 'postgres') }} as p
        join {{ source('shop', 'mariadb') }} as m on m.shop = p.shop and m.number = p.number
    """,
    "counted": """
        {{ config(materialized='table', unique_key='shop') }}
        select shop, count(*) as n from {{ source('shop', 'mariadb') }} group by shop
    """,
    "looked_up": """
        {{ config(materialized='table') }}
        select c.shop, c.number, c.word, m.word as newest from {{ source('shop', 'changes') }} as c
        left join {{ ref('stored') }} as m on m.shop = c.shop and m.number = c.number
    """,
    "versions": """
        {{ config(materialized='table', unique_key=['shop', 'number', 'valid_from']) }}
        select shop, number, word, valid_from, valid_to from {{ source('shop', 'kept') }}
    """,
}


@pytest.mark.parametrize("schemas", [True, pytest.param(False, marks=pytest.mark.long)])
def test_the_columns_of_a_key_identify_rows(tmp_path, broker, spark, schemas):
    shop = Shop(tmp_path, broker)
    shop.write("models/sources.yml", KEYED)
    for name, sql in OF_PAIRS.items():
        shop.model(name, sql)
    topics = {"postgres": "postgres.public.pairs", "mariadb": "mariadb.shop.pairs"}
    create_topics(broker, *topics.values())
    for part_of_log in (slice(0, 3), slice(3, None)):
        for name, topic in topics.items():
            recorded = Recorded(name)
            records = [
                [recorded.in_json(record[part], schemas=schemas) for part in ("key", "value")]
                for record in recorded.of("pairs")[part_of_log]
            ]
            send(broker, {topic: records})
        _, events = built(tmp_path, spark)
        assert not errors(events)
        # The database has no row of before the TRUNCATE, of which no record names the key.
        rows = {("eu", 1): "c", **({("us", 1): "b"} if part_of_log.start == 0 else {("eu", 2): "after"})}
        for model in ("stored", "joined"):
            stored = {(r["shop"], r["number"]): r for r in table_rows(tmp_path, f"model.{model}")}
            assert {key: row["word"] for key, row in stored.items()} == rows, model
        assert {key: row["other"] for key, row in stored.items()} == rows
        counts = {shop: sum(key[0] == shop for key in rows) for shop, _ in rows}
        assert {r["shop"]: r["n"] for r in table_rows(tmp_path, "model.counted")} == counts
    versions = [r for r in table_rows(tmp_path, "model.versions") if r["valid_from"] != r["valid_to"]]
    assert {(r["shop"], r["number"]): (r["word"], r["valid_to"]) for r in versions} == {
        ("eu", 1): ("c", None), ("eu", 2): ("after", None),
    }  # fmt: skip
    changes = [(r["shop"], r["number"], r["word"]) for r in table_rows(tmp_path, "model.looked_up")]
    assert sorted(changes) == [
        ("eu", 1, "a"), ("eu", 1, "c"), ("eu", 2, "after"), ("us", 1, "b"), ("us", 1, "b"),
    ]  # fmt: skip


def test_versions_are_valid_from_the_times_of_transactions(tmp_path, broker, spark):
    """Also if the connector sends changes again, and if a tombstone comes after the next row was committed."""
    shop = Shop(tmp_path, broker)
    more = "        table: true\n        versions: all\n"
    shop.write("models/sources.yml", SOURCES.replace("        table: true\n", more))
    shop.model("history", HISTORY)
    create_topics(broker, "customers", partitions=1)

    def committed(second, op, name=None):
        source = POSTGRES | {"ts_ms": second * 1000, "ts_us": second * 1_000_000 + 7}
        after = name and CUSTOMER | {"first_name": name}
        return plain({"id": 1}, change(op, after, None if after else {"id": 1}, source))

    written = [
        committed(1, "c", "Ann"),
        committed(2, "u", "Bea"),
        committed(3, "d"),
        plain({"id": 1}, None),
        committed(4, "c", "Cem"),
    ]
    for records in (written, written[1:3]):  # a connector that starts again has sent a part of them
        send(broker, {"customers": records})
        _, events = built(tmp_path, spark)
        assert not errors(events)
        versions = {
            row["first_name"]: [time and time.timestamp() for time in (row["valid_from"], row["valid_to"])]
            for row in table_rows(tmp_path, "model.history")
            if row["valid_from"] != row["valid_to"]
        }
        assert versions == {"Ann": [1.000007, 2.000007], "Bea": [2.000007, 3.000007], "Cem": [4.000007, None]}


def test_versions_without_a_source_are_valid_from_the_times_of_records(tmp_path, broker, spark):
    shop = Shop(tmp_path, broker)
    more = "        table: true\n        versions: all\n"
    shop.write("models/sources.yml", SOURCES.replace("        table: true\n", more))
    shop.model("history", HISTORY)
    create_topics(broker, "customers")
    eve = CUSTOMER | {"first_name": "Eve"}
    deleted = [plain({"id": 1}, change("d", None, {"id": 1}, None)), plain({"id": 1}, None)]
    first, last = (plain({"id": 1}, change("c", row, source=None)) for row in (CUSTOMER, eve))
    for records in ([first], deleted, [last]):
        send(broker, {"customers": records})
        time.sleep(0.01)
    _, events = built(tmp_path, spark)
    assert not errors(events)
    rows = sorted(table_rows(tmp_path, "model.history"), key=lambda row: row["valid_from"])
    versions = {row["first_name"]: row for row in rows if row["first_name"]}
    assert versions.keys() == {"Anne", "Eve"}
    assert versions["Anne"]["valid_to"] < versions["Eve"]["valid_from"]
    assert versions["Eve"]["valid_to"] is None


def test_a_truncated_table_is_read_again_after_a_snapshot(tmp_path, broker, spark):
    """As the documentation says what to do."""
    shop = Shop(tmp_path, broker)
    shop.write("models/sources.yml", SOURCES)
    shop.model("kept", CUSTOMERS)
    create_topics(broker, "customers", partitions=1)
    send(broker, {"customers": [plain({"id": 1}, change("c", CUSTOMER)), (None, text(change("t")))]})
    _, events = built(tmp_path, spark)
    assert "the table was truncated" in str(errors(events))
    forget(shop, 2, "customers")
    send(broker, {"customers": [plain({"id": 2}, change("r", CUSTOMER | {"id": 2}))]})
    _, events = built(tmp_path, spark, intent=FullRefresh())
    assert not errors(events)
    assert [row["id"] for row in table_rows(tmp_path, "model.kept")] == [2]


def test_generated_rows_are_consumed(tmp_path, broker, spark):
    shop = Shop(tmp_path, broker)
    shop.write("models/sources.yml", SOURCES)
    shop.model("kept", CUSTOMERS)
    create_topics(broker, "customers")
    shop.write(
        "seeds/traffic.py",
        f"""
        def customers(random, now):
            yield 1, {{"first_name": "Ada", "email": None, "_source": {{"ts_ms": 1000}}}}
            yield 2, {{"first_name": "Ben"}}
            yield {{"id": 3}}, {change("r", CUSTOMER)!r}
            yield 2, {{"_op": "d"}}
        """,
    )

    run(tmp_path, "produce", "shop.customers")
    run(tmp_path, "produce", "shop.customers", "--key", "1", "--value", '{"first_name": "Eve", "_op": "u"}')
    _, events = built(tmp_path, spark)
    assert not errors(events)
    rows = {row["id"]: row["first_name"] for row in table_rows(tmp_path, "model.kept")}
    assert rows == {1: "Eve", 3: "Anne"}
    shown = [
        json.loads(line)
        for line in run(tmp_path, "consume", "customers", "--from-beginning", "--output", "json").splitlines()
    ]
    assert not [record for record in shown if "undecodable" in record]
    assert [record["value"]["op"] for record in shown if record["key"] == 2] == ["c", "d"]
    assert [record["value"]["after"]["first_name"] for record in shown if record["key"] == 1] == [
        "Ada",
        "Eve",
    ]
