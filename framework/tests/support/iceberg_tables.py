"""Iceberg tables that pyiceberg writes, as sources of a project."""

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

PROFILES = """
shop:
  target: local
  outputs:
    local:
      master: "local[2]"
      kafka: embedded
      spark: {{spark.sql.shuffle.partitions: 2}}
      catalogs: {}
"""
LAKE = """
sources:
  - name: lake
    iceberg_tables:
      - name: orders
        catalog: lake
        table: shop.orders
        columns:
          - {name: id, type: bigint}
          - {name: customer, type: string}
          - {name: amount, type: double}
          - {name: doubled, from: amount * 2}
"""
COLUMNS = pa.schema([("id", pa.int64()), ("customer", pa.string()), ("amount", pa.float64())])


def catalogs(root):
    """Return the catalogs of a target."""
    return f'{{lake: {{type: sql, uri: "sqlite:///{root}/catalog.db", warehouse: "file://{root}/lake"}}}}'


def profiles(shop):
    return PROFILES.format(catalogs(shop.root))


def catalog_of(shop):
    return SqlCatalog("lake", uri=f"sqlite:///{shop.root}/catalog.db", warehouse=f"file://{shop.root}/lake")


def create(shop, name="orders", columns=COLUMNS, **options):
    catalog = catalog_of(shop)
    catalog.create_namespace_if_not_exists("shop")
    return catalog.create_table(f"shop.{name}", columns, **options)


def loaded(shop, name="orders"):
    return catalog_of(shop).load_table(f"shop.{name}")


def rows_of(columns, *rows):
    return pa.table(dict(zip(columns.names, zip(*rows, strict=True), strict=True)), schema=columns)


def append(shop, *rows):
    """Append rows as another program does."""
    loaded(shop).append(rows_of(COLUMNS, *rows))


def declare(shop, *options):
    """Declare the table with options, in the catalog that the target names."""
    shop.write("profiles.yml", profiles(shop))
    lines = "".join(f"        {option}\n" for option in options)
    shop.write("models/lake.yml", LAKE.replace("        columns:", f"{lines}        columns:"))
