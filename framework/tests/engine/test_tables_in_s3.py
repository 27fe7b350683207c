"""Tables in S3: Delta, Iceberg and Parquet as stores, and Delta as a source."""

import json
import os
import subprocess
import urllib.request
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog
from support.commands import MILLSTREAM
from support.rest_catalog import rest_catalog
from support.s3 import LOGIN, s3_server
from support.shops import Shop

pytestmark = pytest.mark.long

PROFILES = """
    shop:
      target: local
      outputs:
        local:
          master: local[2]
          kafka: embedded
          tables: {{path: "s3a://shop/tables", parquet_path: "s3a://shop/files", {iceberg}}}
          catalogs: {{lake: {{type: rest, uri: "{uri}", warehouse: "s3://shop/catalog"}}}}
          checkpoints: "s3a://shop/checkpoints"
          spark:
            spark.sql.shuffle.partitions: 1
            spark.hadoop.fs.s3a.endpoint: "{address}"
            spark.hadoop.fs.s3a.path.style.access: true
            spark.hadoop.fs.s3a.access.key: "{{{{ env_var('LAKE_KEY') }}}}"
            spark.hadoop.fs.s3a.secret.key: "{{{{ env_var('LAKE_SECRET') }}}}"
"""
SOURCES = """
sources:
  - name: lake
    delta_tables:
      - name: orders
        path: s3a://shop/orders
        columns: [{name: id, type: bigint}, {name: customer, type: string}]
      - name: customers
        path: s3a://shop/customers
        key: customer
        columns: [{name: customer, type: string}, {name: city, type: string}]
"""
ORDERS = "{{ source('lake', 'orders') }}"
MODELS = {
    "in_delta": f"{{{{ config(materialized='table') }}}} select id, customer from {ORDERS}",
    "in_parquet": f"{{{{ config(materialized='table', store='parquet', partition_by='id') }}}} select id, customer from {ORDERS}",
    "in_iceberg": "{{ config(materialized='table', store='iceberg', unique_key='customer') }} "
    f"select customer, count(*) as orders from {ORDERS} group by customer",
    "cities": "{{ config(materialized='table', unique_key='city') }} "
    "select city, count(*) as customers from {{ source('lake', 'customers') }} group by city",
}
LAKE_LOGIN = {"LAKE_KEY": LOGIN["AWS_ACCESS_KEY_ID"], "LAKE_SECRET": LOGIN["AWS_SECRET_ACCESS_KEY"]}


@pytest.fixture
def address(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3"), "shop") as url:
        yield url


def options(address):
    more = {"AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true", "AWS_S3_ALLOW_UNSAFE_RENAME": "true"}
    return LOGIN | more


def keys(address, prefix):
    """Return the objects below a prefix, without those that stand for folders."""
    with urllib.request.urlopen(f"{address}/shop?list-type=2&prefix={prefix}", timeout=10) as answer:
        listing = ET.fromstring(answer.read())
    space = listing.tag.partition("}")[0] + "}"
    names = [content.findtext(f"{space}Key") for content in listing.iter(f"{space}Contents")]
    return sorted(key for key in names if not key.endswith("/"))


def append(address, *ids):
    orders = pa.table({"id": pa.array(ids, pa.int64()), "customer": [f"c{id_ % 2}" for id_ in ids]})
    write_deltalake("s3://shop/orders", orders, mode="append", storage_options=options(address))


def command(shop, *arguments, code=0):
    """Run a command whose environment has no login of Amazon's: profiles.yml has it."""
    done = subprocess.run(
        [*MILLSTREAM, *arguments],
        cwd=shop.root,
        env=os.environ | LAKE_LOGIN | {"AWS_REGION": LOGIN["AWS_REGION"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def query(shop, sql):
    text = command(shop, "query", sql, "--output", "json")
    answer, _ = json.JSONDecoder().raw_decode(text)  # warnings of pyiceberg come after it
    return [tuple(row.values()) for row in answer["rows"]]


def write(shop, address, models, iceberg, uri="http://127.0.0.1:1"):
    shop.write("profiles.yml", PROFILES.format(address=address, uri=uri, iceberg=iceberg))
    shop.write("models/lake.yml", SOURCES)
    for name in models:
        shop.model(name, MODELS[name])


def test_iceberg_in_a_catalog_and_parquet(tmp_path, broker, address):
    shop = Shop(tmp_path / "shop", broker)
    (site := tmp_path / "site").mkdir()
    with rest_catalog(site, address) as uri:
        login = {"s3.access-key-id": LOGIN["AWS_ACCESS_KEY_ID"], "s3.endpoint": address}
        login["s3.secret-access-key"] = LOGIN["AWS_SECRET_ACCESS_KEY"]
        catalog = load_catalog("lake", type="rest", uri=uri, **login)
        catalog.create_namespace("marts")
        names = "iceberg_catalog: lake, iceberg_namespace: marts"
        write(shop, address, ["in_iceberg", "in_parquet"], names, uri)
        append(address, 1, 2)
        command(shop, "build")
        append(address, 3)
        command(shop, "build")
        in_parquet = query(shop, "select id, customer from in_parquet order by id")
        assert in_parquet == [(1, "c1"), (2, "c0"), (3, "c1")]
        paths = keys(address, "files/in_parquet/")
        assert [path.split("/")[2] for path in paths] == ["id=1", "id=2", "id=3"]
        orders = [("c0", 1), ("c1", 2)]
        assert query(shop, "select customer, orders from in_iceberg order by customer") == orders
        stored = catalog.load_table("marts.in_iceberg")
        assert stored.location() == "s3://shop/catalog/marts/in_iceberg"
        rows = stored.scan().to_arrow().to_pylist()
        assert sorted((row["customer"], row["orders"]) for row in rows) == orders


def test_delta_and_iceberg_in_folders(tmp_path, broker, address):
    shop = Shop(tmp_path / "shop", broker)
    write(shop, address, ["in_delta", "in_iceberg", "cities"], 'iceberg_path: "s3a://shop/iceberg"')
    append(address, 1, 2)
    write_deltalake(
        "s3://shop/customers",
        pa.table({"customer": ["c0", "c1"], "city": ["Bern", "Bern"]}),
        storage_options=options(address),
        configuration={"delta.enableChangeDataFeed": "true"},
    )
    command(shop, "build")
    append(address, 3)
    customers = DeltaTable("s3://shop/customers", storage_options=options(address))
    customers.update(updates={"city": "'Rome'"}, predicate="customer = 'c1'")
    command(shop, "build")
    in_delta = query(shop, "select id, customer from in_delta order by id")
    assert in_delta == [(1, "c1"), (2, "c0"), (3, "c1")]
    in_iceberg = query(shop, "select customer, orders from in_iceberg order by customer")
    assert in_iceberg == [("c0", 1), ("c1", 2)]
    assert query(shop, "select city, customers from cities order by city") == [("Bern", 1), ("Rome", 1)]
    logs = [path.read_bytes() for path in (shop.root / ".millstream").rglob("*.log") if path.is_file()]
    assert logs
    assert not any(LOGIN["AWS_SECRET_ACCESS_KEY"].encode() in log for log in logs)
