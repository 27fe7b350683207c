"""Every kind of source with the same rows: how a test declares one, and writes to it as another program does.

A kind is a class here.
"""

import json
import time

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable, write_deltalake
from pyiceberg.types import LongType

from support import iceberg_tables
from support.matrix import Matrix
from support.runs import create_topics, send

NAMES = ("id", "customer", "amount")
COLUMNS = """
        columns:
          - {name: id, type: bigint}
          - {name: customer, type: string}
          - {name: amount, type: double}
          - {name: doubled, from: amount * 2}
"""
ORDERS = "{{ source('lake', 'orders') }}"


def records(rows):
    return [dict(zip(NAMES, row, strict=True)) for row in rows]


def arrow_table(rows):
    return iceberg_tables.rows_of(iceberg_tables.COLUMNS, *rows)


class SourceKind:
    """A source `lake.orders`, whose rows are an id, a customer and an amount."""

    explained: str
    """What `explain` says is read."""
    key: str
    settings: str
    columns = COLUMNS
    unit = "records"
    """What `lag` counts."""
    streams = ("lake.orders",)
    keyed = False
    """Rows replace those of the same id."""
    replayable = True

    def declare(self, shop, *options):
        lines = [*self.settings.splitlines(), *options]
        settings = "".join(f"        {line}\n" for line in lines)
        shop.write(
            "models/lake.yml",
            f"sources:\n  - name: lake\n    {self.key}:\n      - name: orders\n{settings}{self.columns.lstrip(chr(10))}",
        )

    def prepare(self, shop):
        """Make what has to exist before a query reads it."""

    def write(self, shop, *rows):
        raise NotImplementedError

    def write_bad(self, shop):
        """Write a row that can't be read."""
        raise NotImplementedError

    def expected(self, written, _count):
        """Return the rows that a model has which has read `_count` of them."""
        return list({id_: (id_, *values) for id_, *values in written}.values()) if self.keyed else written


class Lines(SourceKind):
    explained, key, unit = "files source.lake.orders", "files", "files"
    settings = "path: lake/orders\nformat: json"

    def write(self, shop, *rows):
        self._write_lines(shop, *map(json.dumps, records(rows)))

    def write_bad(self, shop):
        self._write_lines(shop, "no JSON")

    def _write_lines(self, shop, *lines):
        file = new_file(shop, "json")
        file.write_text("\n".join(lines))
        file.rename(file.with_name(file.name.lstrip(".")))


class ParquetFiles(SourceKind):
    explained, key, unit = "files source.lake.orders", "files", "files"
    settings = "path: lake/orders\nformat: parquet"

    def write(self, shop, *rows):
        file = new_file(shop, "parquet")
        pq.write_table(arrow_table(rows), file)
        file.rename(file.with_name(file.name.lstrip(".")))


class Packaged(ParquetFiles):
    """The kind of `support/source_kinds`."""

    explained, key, settings = "parquet_folder source.lake.orders", "parquet_folders", "path: lake/orders"


def new_file(shop, suffix):
    """Return a file that is not read yet under its name."""
    folder = shop.root / "lake/orders"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f".{sum(1 for _ in folder.iterdir())}.{suffix}"


class Delta(SourceKind):
    explained, key, unit = "delta source.lake.orders", "delta_tables", "versions"
    settings = "path: lake/orders"

    def write(self, shop, *rows):
        write_deltalake(str(shop.root / "lake/orders"), arrow_table(rows), mode="append")

    def rows(self, shop):
        return DeltaTable(str(shop.root / "lake/orders")).to_pyarrow_table()

    def arrange(self, shop):
        """Combine files; return how many versions that makes."""
        DeltaTable(str(shop.root / "lake/orders")).optimize.compact()
        return 1

    def second(self, _shop):
        """Return the number of the version with the second write."""
        return 1

    def write_with_another_column(self, shop, *rows):
        table = arrow_table(rows).append_column("note", pa.array([1 for _ in rows], pa.int64()))
        write_deltalake(str(shop.root / "lake/orders"), table, mode="append", schema_mode="merge")


class DeltaByKey(SourceKind):
    explained, key, unit, keyed = "table source.lake.orders", "delta_tables", "versions", True
    settings = "path: lake/orders\nkey: id"

    def prepare(self, shop):
        feed = {"delta.enableChangeDataFeed": "true"}
        DeltaTable.create(str(shop.root / "lake/orders"), iceberg_tables.COLUMNS, configuration=feed)

    def write(self, shop, *rows):
        table = DeltaTable(str(shop.root / "lake/orders"))
        merge = table.merge(arrow_table(rows), "t.id = s.id", source_alias="s", target_alias="t")
        merge.when_matched_update_all().when_not_matched_insert_all().execute()


class Iceberg(SourceKind):
    explained, key, unit = "iceberg source.lake.orders", "iceberg_tables", "snapshots"
    settings = "catalog: lake\ntable: shop.orders"

    def prepare(self, shop):
        iceberg_tables.create(shop)

    def write(self, shop, *rows):
        iceberg_tables.append(shop, *rows)

    def rows(self, shop):
        return iceberg_tables.loaded(shop).scan().to_arrow()

    def arrange(self, _shop):
        return 0  # pyiceberg combines no files

    def second(self, shop):
        return iceberg_tables.loaded(shop).snapshots()[1].snapshot_id

    def write_with_another_column(self, shop, *rows):
        with iceberg_tables.loaded(shop).update_schema() as update:
            update.add_column("note", LongType())
            update.move_first("note")
        self.write(shop, *rows)


class IcebergByKey(Iceberg):
    explained, keyed = "table source.lake.orders", True
    settings = f"{Iceberg.settings}\nkey: id"

    def write(self, shop, *rows):
        iceberg_tables.loaded(shop).upsert(arrow_table(rows), join_cols=["id"])


class Rate(SourceKind):
    """Spark makes the rows, from the second in which a query starts."""

    explained, key, unit, replayable = "rate source.lake.orders", "rates", "seconds", False
    settings = "rows_per_second: 5"
    columns = """
        columns:
          - {name: id, from: value}
          - {name: customer, from: "concat('customer', value % 3)"}
          - {name: amount, from: cast(value as double)}
          - {name: doubled, from: cast(value * 2 as double)}
"""

    def write(self, _shop, *_rows):
        time.sleep(1.1)  # the rows are those of a second

    def expected(self, _written, count):
        return [(number, f"customer{number % 3}", float(number)) for number in range(count)]


class Topic(SourceKind):
    explained, key, settings = "topic orders", "topics", "topic: orders"
    streams = ("orders",)

    def prepare(self, shop):
        create_topics(shop.bootstrap, *self.streams, partitions=1)

    def topic(self, _shop):
        return "orders"

    def write(self, shop, *rows):
        send(shop.bootstrap, {self.topic(shop): [(None, record) for record in records(rows)]})

    def write_bad(self, shop):
        send(shop.bootstrap, {self.topic(shop): [(None, "no JSON")]})


class SeveralTopics(Topic):
    """Each write goes to another one than that before."""

    explained = "topics orders_eu, orders_us"
    settings = "topics: [orders_eu, orders_us]"
    streams = ("orders_eu", "orders_us")

    def topic(self, shop):
        file = shop.root / "last_topic"
        last = file.read_text() if file.exists() else self.streams[1]
        file.write_text(self.streams[last == self.streams[0]])
        return file.read_text()


class Pattern(Topic):
    """Each write goes to a topic of its own."""

    explained = "topics orders_.*"
    settings = "topic_pattern: orders_.*"

    def prepare(self, shop):
        pass

    def topic(self, shop):
        topics = AdminClient({"bootstrap.servers": shop.bootstrap}).list_topics(timeout=10).topics
        name = f"orders_{len([topic for topic in topics if topic.startswith('orders_')])}"
        create_topics(shop.bootstrap, name, partitions=1)
        return name


class History(Topic):
    """The rows of the first write are in the lake, and no longer in the topic."""

    settings = "topic: orders\nhistory: {delta_table: lake/old}"

    def write(self, shop, *rows):
        super().write(shop, *rows)
        if not (shop.root / "lake/old").exists():
            self._move(shop, rows)

    def _move(self, shop, rows):
        numbers = range(len(rows))
        table = arrow_table(rows)
        table = table.append_column("_partition", pa.array([0 for _ in numbers], pa.int32()))
        table = table.append_column("_offset", pa.array(numbers, pa.int64()))
        times = pa.array([1_767_225_600_000_000 for _ in numbers], pa.timestamp("us", "UTC"))
        write_deltalake(str(shop.root / "lake/old"), table.append_column("_timestamp", times))
        admin = AdminClient({"bootstrap.servers": shop.bootstrap})
        for future in admin.delete_records([TopicPartition("orders", 0, len(rows))]).values():
            future.result(10)


KINDS = {
    "lines": Lines(),
    "parquet": ParquetFiles(),
    "packaged": Packaged(),
    "delta": Delta(),
    "delta_by_key": DeltaByKey(),
    "iceberg": Iceberg(),
    "iceberg_by_key": IcebergByKey(),
    "rate": Rate(),
    "topic": Topic(),
    "several_topics": SeveralTopics(),
    "pattern": Pattern(),
    "history": History(),
}
CELLS = (
    "compile",
    "explain",
    "lineage",
    "unit test",
    "build",
    "run",
    "kill -9",
    "rebuild",
    "apply while running",
    "rollback",
    "environment",
    "lag",
    "bad records",
)
TYPED = (
    "its rows have the types that are stored: a table or file with other columns is an error of the source"
)
NOT_TESTED = {
    **{
        (kind, "bad records"): TYPED
        for kind in ("parquet", "packaged", "delta", "delta_by_key", "iceberg", "iceberg_by_key")
    },
    ("rate", "bad records"): "Spark makes its rows",
    ("rate", "kill -9"): "which rows it has depends on when its queries start",
}
"""Cells that make no sense, with the reason."""
SOURCES = Matrix(KINDS, CELLS, NOT_TESTED)
