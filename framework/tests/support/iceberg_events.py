"""A table of events in Iceberg, and what reads it without code of Millstream."""

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import ClassVar

from pyiceberg.table import StaticTable

from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.plan.nodes import Column
from millstream.project.values import Target
from millstream.queries.values import TableOutput
from millstream.stores.query import StoredProject, run_query
from millstream.stores.spark import TableBatch, spark_tables
from millstream.stores.tables.relations import StoredRelation

NAME = NodeId("model", "events")
TYPES = {
    "id": "bigint",
    "small": "tinyint",
    "text": "string",
    "day": "date",
    "at": "timestamp",
    "clock": "timestamp_ntz",
    "price": "decimal(10,2)",
    "ratio": "double",
    "flag": "boolean",
    "raw": "binary",
    "place": "struct<city:string,tags:array<string>>",
    "counts": "map<string,bigint>",
}
NOON = datetime(2026, 1, 1, 12, 0, 0, 500, tzinfo=timezone.utc)
ROW = (1, 7, "a", date(2026, 1, 1), NOON, NOON.replace(tzinfo=None), Decimal("1.50"), 0.5, True, b"\x00\xff",
       ("Rome", ["x", None]), {"k": 2})  # fmt: skip
NULLS = (2, *[None] * (len(TYPES) - 1))


class Events:
    SETTINGS: ClassVar = {"store": "iceberg", "iceberg_path": "lake"}

    def __init__(self, spark, root, old_snapshots=None, types=TYPES, keys=(), **options):
        more = {"old_snapshots": old_snapshots} if old_snapshots else {}
        self.target = Target("shop", "local", {"tables": self.SETTINGS | more})
        self.root, self.spark = root, spark
        self.path = root / "lake" / "events"
        self.tables = spark_tables(self.SETTINGS["store"], self.target, root, spark)
        self.create(types, keys, **options)

    def create(self, types=TYPES, keys=(), **options):
        columns = tuple(Column(name, parse_type(type_)) for name, type_ in types.items())
        self.table = TableOutput(NAME, keys, columns, options)
        return self.tables.create(self.table, changes=False)

    def frame(self, *rows):
        schema = ", ".join(f"{column.name} {column.type}" for column in self.table.columns)
        return self.spark.createDataFrame(rows, schema).coalesce(1)

    def batch(self, number, *rows):
        self.store(number, self.frame(*rows))

    def store(self, number, frame):
        self.tables.merge(frame, self.table, TableBatch("w", number, deletes=False, new=False))

    def static(self):
        return StaticTable.from_metadata(str(self.path))

    def read(self, filter_="true"):
        events = self.static().scan(row_filter="true" if filter_ == "true" else filter_).to_arrow()
        return events.sort_by("id").to_pylist()

    def query(self, sql):
        columns = tuple((column.name, str(column.type)) for column in self.table.columns)
        relation = StoredRelation(NAME, "events", "table", columns)
        return run_query(sql, StoredProject(self.root, self.target, {"events": relation}, dict)).rows

    def data_files(self):
        return sorted(self.path.glob("data/**/*.parquet"))
