"""A project at rest (tables in Delta, a seed, and relations that are not tables), and a table of each store."""

from datetime import datetime, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.stored_tables import Store

from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.core.types import BIGINT, STRING
from millstream.project.values import DeclaredColumn, Seed, Target
from millstream.stores.delta.folder import delta_folder
from millstream.stores.query import StoredProject
from millstream.stores.registry import STORES
from millstream.stores.tables.relations import StoredRelation

TOTALS = pa.table(
    {
        "userId": ["ann", "bob", "cid"],
        "total": [3, None, 5],
        "seen": pa.array([datetime(2024, 1, 1, 23, 30, tzinfo=timezone.utc)] * 3, pa.timestamp("us", "UTC")),
        "place": pa.array([{"city": "Rome", "zip": None}] * 3),
        "tags": [["a"], [], None],
        "counts": pa.array([[("x", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        "price": pa.array([Decimal("1.50"), None, None], pa.decimal128(10, 2)),
        "raw": [b"\x00\xff", None, None],
    }
)
PRODUCTS = pa.table({"product_id": ["p1", "p2"], "segment": ["new", "old"]})
RELATIONS = (
    StoredRelation(NodeId("model", "totals"), "totals", "table"),
    StoredRelation(NodeId("model", "unbuilt"), "unbuilt", "table"),
    StoredRelation(NodeId("source", "shop.products"), "shop.products", "reference"),
    StoredRelation(NodeId("source", "shop.clicks"), "shop.clicks", "topic"),
    StoredRelation(NodeId("model", "stg"), "stg", "view"),
    StoredRelation(NodeId("model", "out"), "out", "sink"),
    StoredRelation(NodeId("seed", "segments"), "segments", "seed"),
)


@pytest.fixture
def rest(tmp_path):
    """Return a function that gives the project with further settings of its target."""
    (tmp_path / "segments.csv").write_text("segment;rank\nnew;1\nold;\n", encoding="utf-8")
    location = Location("segments.csv", 1, 1)
    columns = (DeclaredColumn("segment", location, STRING), DeclaredColumn("rank", location, BIGINT))
    seed = Seed("segments", "segments.csv", columns, 2, location, delimiter=";")
    base = delta_folder(Target("shop", "local", {}), tmp_path)
    for relation, rows in (("model.totals", TOTALS), ("source.shop.products", PRODUCTS)):
        write_deltalake(base.written(NodeId.parse(relation)), rows)

    def make(*more, **settings):
        relations = {relation.name.lower(): relation for relation in (*RELATIONS, *more)}
        return StoredProject(
            tmp_path, Target("shop", "local", settings), relations, lambda: {"segments": seed}
        )

    return make


@pytest.fixture
def delta_settings():
    return {"path": "tables"}


@pytest.fixture
def postgres_settings(postgres):
    settings = {"url": postgres.url, "username": postgres.username, "password": postgres.password}
    return settings | {"database_schema": postgres.schema}


@pytest.fixture
def mysql_settings(mariadb):
    settings = {"mysql_url": mariadb.url, "mysql_username": mariadb.username}
    return settings | {"mysql_password": mariadb.password}


@pytest.fixture
def iceberg_settings():
    return {"iceberg_path": "lake"}


@pytest.fixture
def parquet_settings():
    return {"parquet_path": "lake"}


@pytest.fixture
def catalog_settings(catalog):
    options = {"store": "iceberg", "iceberg_catalog": "lake", "iceberg_namespace": catalog.new_namespace()}
    return options | {"catalogs": {"lake": {"type": "rest", "uri": catalog.uri}}}


KINDS = (*STORES, "catalog")
"""The stores; Iceberg's tables are in folders, or in a catalog."""


@pytest.fixture(params=KINDS)
def store(request, spark, tmp_path):
    """Return a table of a store; the store's settings are those of its fixture."""
    return store_of(request, spark, tmp_path)


@pytest.fixture(params=[name for name in KINDS if name != "parquet"])
def keyed_store(request, spark, tmp_path):
    """Return a table with a key."""
    return store_of(request, spark, tmp_path)


def store_of(request, spark, tmp_path):
    settings = request.getfixturevalue(f"{request.param}_settings")
    return Store(spark, tmp_path, {"store": request.param, **settings})
