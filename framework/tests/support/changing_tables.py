"""Tables of customers whose rows change, which other programs write: delta-rs, and pyiceberg."""

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType
from pyiceberg.types import StringType

from support import iceberg_tables

OF_CUSTOMERS = pa.schema([("id", pa.int64()), ("city", pa.string()), ("score", pa.int64())])
OF_ORDERS = pa.schema([("order_id", pa.int64()), ("customer_id", pa.int64())])
LAKE = """
sources:
  - name: lake
    delta_tables:
      - name: customers
        path: lake/customers
        key: id
        columns:
          - {name: id, type: bigint}
          - {name: city, type: string}
          - {name: score, type: bigint}
      - name: orders
        path: lake/orders
        columns:
          - {name: order_id, type: bigint}
          - {name: customer_id, type: bigint}
"""


def customer_rows(*rows):
    return iceberg_tables.rows_of(OF_CUSTOMERS, *rows)


class DeltaCustomers:
    def __init__(self, shop):
        self.shop = shop
        shop.write("models/lake.yml", LAKE)
        feed = {"delta.enableChangeDataFeed": "true"}
        DeltaTable.create(self._folder("customers"), OF_CUSTOMERS, configuration=feed)

    def _folder(self, name):
        return str(self.shop.root / "lake" / name)

    @property
    def _table(self):
        return DeltaTable(self._folder("customers"))

    def rows(self):
        return self._table.to_pyarrow_table()

    def append(self, *rows):
        write_deltalake(self._folder("customers"), customer_rows(*rows), mode="append")

    def add_orders(self, *orders):
        table = iceberg_tables.rows_of(OF_ORDERS, *orders)
        write_deltalake(self._folder("orders"), table, mode="append")

    def merge(self, *rows):
        merged = self._table.merge(
            customer_rows(*rows), predicate="t.id = s.id", source_alias="s", target_alias="t"
        )
        merged.when_matched_update_all().when_not_matched_insert_all().execute()

    def delete(self, where):
        self._table.delete(where)

    def update(self, where, column, value):
        """Change a column of some rows; the value is SQL, a number."""
        self._table.update(updates={column: value}, predicate=where)

    def overwrite(self):
        """Write the same rows again."""
        write_deltalake(self._folder("customers"), self.rows(), mode="overwrite")

    def arrange(self):
        self._table.optimize.compact()

    def add_column(self):
        self._table.alter.add_columns([Field("note", PrimitiveType("string"))])


class IcebergCustomers:
    def __init__(self, shop):
        self.shop = shop
        declared = LAKE.replace("delta_tables", "iceberg_tables")
        for name in ("customers", "orders"):
            declared = declared.replace(f"path: lake/{name}", f"catalog: lake\n        table: shop.{name}")
        shop.write("models/lake.yml", declared)
        iceberg_tables.create(shop, "customers", OF_CUSTOMERS)
        iceberg_tables.create(shop, "orders", OF_ORDERS)

    @property
    def _table(self):
        return iceberg_tables.loaded(self.shop, "customers")

    def rows(self):
        return self._table.scan().to_arrow()

    def append(self, *rows):
        self._table.append(customer_rows(*rows))

    def add_orders(self, *orders):
        iceberg_tables.loaded(self.shop, "orders").append(iceberg_tables.rows_of(OF_ORDERS, *orders))

    def merge(self, *rows):
        self._table.upsert(customer_rows(*rows), join_cols=["id"])

    def delete(self, where):
        self._table.delete(where)

    def update(self, where, column, value):
        """Write some rows again, with another number in a column; the number is SQL."""
        customers = self.rows()  # noqa: F841 - DuckDB finds it
        number = f"({value})::bigint as {column}"
        changed = duckdb.sql(f"select * replace ({number}) from customers where {where}")
        if rows := changed.project("id, city, score").fetchall():
            self._table.overwrite(customer_rows(*rows), overwrite_filter=where)

    def overwrite(self):
        self._table.overwrite(self.rows())

    def arrange(self):
        """Nothing: pyiceberg combines no files."""

    def expire(self):
        """Remove all snapshots but the newest."""
        with self._table.maintenance.expire_snapshots() as expiring:
            for snapshot in self._table.snapshots()[:-1]:
                expiring.by_id(snapshot.snapshot_id)

    def add_column(self):
        with self._table.update_schema() as change:
            change.add_column("note", StringType())
