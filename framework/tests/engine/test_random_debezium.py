"""Random changes of three tables as Debezium captures them: the tables in Millstream equal the database's at the end.

With `versions`, they equal what the database had after each transaction. Connectors stop and send records again, take
snapshots, and write tombstones. `MILLSTREAM_DEBEZIUM` sets how
many changes a round has, and `MILLSTREAM_DEBEZIUM_SEED` other ones.
"""

import os
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random

import pytest
from support.debezium import MYSQL, POSTGRES, change, digits, field, key_with_schema, text, with_schema
from support.runs import built, create_topics, errors, send, table_rows
from support.shops import Shop
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS

COUNT = int(os.environ.get("MILLSTREAM_DEBEZIUM", "600"))
SEED = int(os.environ.get("MILLSTREAM_DEBEZIUM_SEED", "0"))
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
KEYS = {"customers": ("id",), "orders": ("id",), "items": ("half", "id")}
TABLES = tuple(KEYS)
SOURCES = """
sources:
  - name: shop
    format: debezium
    format_options: {timestamps: micros, decimals: precise}
    topics:
"""
COLUMNS = """
      - name: %s%s
        topic: %s
        table: true%s
        key: [%s]
        columns:
          - {name: id, type: bigint, nullable: false}
          - {name: half, type: int}
          - {name: name, type: string}
          - {name: day, type: date}
          - {name: at, type: timestamp}
          - {name: price, type: "decimal(12,2)"}
          - {name: owner, type: bigint}
"""
KINDS = {"": "", "_versions": "\n        versions: all"}
TABLE_MODEL = """
    {{ config(materialized='table', unique_key=%s) }}
    select half, id, name, day, at, price, owner from {{ source('shop', '%s') }}
"""
VERSIONS_MODEL = """
    {{ config(materialized='table', unique_key=%s) }}
    select half, id, name, day, at, price, owner, valid_from, valid_to from {{ source('shop', '%s_versions') }}
"""
JOINED = """
    {{ config(materialized='table', unique_key='owner') }}
    select o.owner, max(c.name) as name, count(*) as orders, sum(o.price) as price
    from {{ ref('kept_orders') }} as o
    left join {{ ref('kept_customers') }} as c on c.id = o.owner
    where o.owner is not null
    group by o.owner
"""
SCHEMA = (
    field("id", "int64", optional=False),
    field("half", "int32"),
    field("name", "string"),
    field("day", "int32", "io.debezium.time.Date"),
    field("at", "int64", "io.debezium.time.MicroTimestamp"),
    field("price", "bytes", "org.apache.kafka.connect.data.Decimal", scale=2),
    field("owner", "int64"),
)


class Connector:
    """A database, and what its connector writes: with schemas or without, as of PostgreSQL or of MySQL."""

    def __init__(self, random, *, schemas, postgres):
        self.random = random
        self.schemas = schemas
        self.postgres = postgres
        self.rows = {table: {} for table in TABLES}
        self.written = {table: [] for table in TABLES}
        self.position = 0
        self.committed = EPOCH + timedelta(days=20000)
        self.history = {table: [] for table in TABLES}
        """What each transaction left of a row: its time, the number of the row, and the row or None."""

    def row(self, number):
        def maybe(value):
            return None if self.random.random() < 0.2 else value

        return {
            "id": number,
            "half": number % 2,
            "name": maybe(self.random.choice(["Zoë", "", "a b", '"x"', "1234"])),
            "day": maybe(date(1970, 1, 1) + timedelta(days=self.random.randint(-9000, 30000))),
            "at": maybe(EPOCH + timedelta(microseconds=self.random.randint(-(10**15), 3 * 10**15))),
            "price": maybe(Decimal(self.random.randint(-(10**8), 10**8)) / 100),
            "owner": maybe(self.random.randint(1, 30)),
        }

    def encoded(self, row):
        return {
            **row,
            "day": row["day"] and (row["day"] - date(1970, 1, 1)).days,
            "at": row["at"] and (row["at"] - EPOCH) // timedelta(microseconds=1),
            "price": None if row["price"] is None else digits(row["price"], 2),
        }

    def write(self, table, op, number, before, after):
        self.position += 1
        source = POSTGRES | {"lsn": self.position} if self.postgres else MYSQL | {"pos": self.position}
        micros = (self.committed - EPOCH) // timedelta(microseconds=1)
        source |= {"ts_ms": micros // 1000, "ts_us": micros, "ts_ns": micros * 1000}
        self.history[table].append((self.committed, number, after))
        before = before and self.encoded(before)
        key = {name: number % 2 if name == "half" else number for name in KEYS[table]}
        if before and self.postgres:
            before = key if op == "d" else None
        value = change(op, after and self.encoded(after), before, source)
        if self.schemas:
            of_key = [column for column in SCHEMA if column["field"] in key]
            value, key = with_schema(value, *SCHEMA), key_with_schema(key, *of_key)
        self.written[table].append((text(key), text(value)))
        if op == "d" and (self.postgres or self.random.random() < 0.5):
            self.written[table].append((text(key), None))

    def change(self):
        table = self.random.choice(TABLES)
        rows, number = self.rows[table], self.random.randint(1, 40)
        before = rows.get(number)
        if before and self.random.random() < 0.35:
            self.write(table, "d", number, rows.pop(number), None)
            return
        rows[number] = self.row(number)
        self.write(table, "u" if before else "c", number, before, rows[number])

    def transaction(self):
        """Commit some changes; MySQL's log has the seconds of their times, which others can have, too."""
        if self.postgres:
            self.committed += timedelta(microseconds=self.random.randint(1, 10**6))
        else:
            self.committed += timedelta(seconds=self.random.randint(0, 1))
        count = self.random.randint(1, 6)
        for _ in range(count):
            self.change()
        return count

    def versions(self, table):
        """Return the rows of a table that were valid at some time, by number and begin, with their ends."""
        bounds = {}
        for time, number, row in self.history[table]:
            bounds.setdefault(number, {})[time] = row
        return {
            (number, begin): (row, end)
            for number, rows in bounds.items()
            for (begin, row), end in zip(rows.items(), [*rows, None][1:], strict=True)
            if row is not None
        }

    def snapshot(self):
        self.committed += timedelta(seconds=1)
        for table, rows in self.rows.items():
            for number, row in rows.items():
                self.write(table, "r", number, None, row)

    def records(self, sent):
        """Return the records of a round; a connector that was killed sends its last ones again."""
        records = {}
        for table, written in self.written.items():
            new = written[sent[table] :]
            cut = self.random.randint(0, len(new))
            again = self.random.randint(0, sent[table] + cut)
            records[table] = [*new[:cut], *written[again : sent[table] + cut], *new[cut:]]
            sent[table] = len(written)
        return records


def run_rounds(root, broker, spark, rounds, count, *, schemas, postgres):
    random = Random(f"{SEED}:{schemas}:{postgres}")
    connector = Connector(random, schemas=schemas, postgres=postgres)
    shop = Shop(root, broker)
    topics = [
        (table, more, table, how, ", ".join(KEYS[table])) for table in TABLES for more, how in KINDS.items()
    ]
    shop.write(
        "models/sources.yml", SOURCES + "".join(COLUMNS.strip("\n") % topic + "\n" for topic in topics)
    )
    for table in TABLES:
        shop.model(f"kept_{table}", TABLE_MODEL % (list(KEYS[table]), table))
        shop.model(f"{table}_history", VERSIONS_MODEL % ([*KEYS[table], "valid_from"], table))
    shop.model("joined", JOINED)
    create_topics(broker, *TABLES)
    sent = dict.fromkeys(TABLES, 0)
    for number in range(rounds):
        changes = 0
        while changes < count:
            changes += connector.transaction()
        if number == 1:
            connector.snapshot()
        send(broker, connector.records(sent))
        _, events = built(root, spark)
        assert not errors(events)
        compare(root, connector)


def stored_versions(root, table):
    """Return versions like those of a connector; empty ones only hold the place of an end."""
    versions = {}
    for row in table_rows(root, f"model.{table}_history"):
        begin, end = (
            time and time.astimezone(timezone.utc) for time in (row.pop("valid_from"), row.pop("valid_to"))
        )
        row["at"] = row["at"] and row["at"].astimezone(timezone.utc)
        if begin != end:
            versions[row["id"], begin] = (row, end)
    return versions


def compare(root, connector):
    for table, rows in connector.rows.items():
        stored = {row["id"]: row for row in table_rows(root, f"model.kept_{table}")}
        for row in stored.values():
            row["at"] = row["at"] and row["at"].astimezone(timezone.utc)
        assert stored == rows, table
        assert stored_versions(root, table) == connector.versions(table), table
    names = {number: row["name"] for number, row in connector.rows["customers"].items()}
    expected = {}
    for row in connector.rows["orders"].values():
        if row["owner"] is not None:
            orders, price = expected.get(row["owner"], (0, None))
            total = price if row["price"] is None else (price or 0) + row["price"]
            expected[row["owner"]] = (orders + 1, total)
    joined = {
        row["owner"]: (row["orders"], row["price"], row["name"]) for row in table_rows(root, "model.joined")
    }
    assert joined == {owner: (orders, price, names.get(owner)) for owner, (orders, price) in expected.items()}


@pytest.mark.long
def test_tables_equal_the_database(tmp_path, broker, spark):
    run_rounds(tmp_path, broker, spark, 2, 200, schemas=True, postgres=True)


@pytest.mark.long
@pytest.mark.parametrize("schemas", [True, False])
@pytest.mark.parametrize("postgres", [True, False])
def test_tables_equal_the_database_for_long(tmp_path, broker, spark, schemas, postgres):
    run_rounds(tmp_path, broker, spark, 4, COUNT, schemas=schemas, postgres=postgres)
