"""Iceberg tables in a REST catalog: what errors ask for, what is removed, and what pyiceberg and DuckDB read."""

import random
import re
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import pyarrow as pa
import pytest
from example.generated import ROOT
from msgspec.structs import replace
from support.iceberg_events import NAME, ROW, TYPES, Events
from support.rest_catalog.gateway import gateway
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.core.text import Location
from millstream.core.types import parse_type
from millstream.plan.nodes import Column
from millstream.project.names import Environment
from millstream.project.secrets import Secret
from millstream.project.values import Target
from millstream.queries.values import TableOutput
from millstream.stores.file_sizes import EVERY
from millstream.stores.local import local_tables
from millstream.stores.spark import TableBatch, spark_tables

pytestmark = SPARK_WARNINGS

TOKEN = "swordfish-of-the-lake"


class CatalogEvents(Events):
    """A table of events in a catalog."""

    def __init__(self, spark, root, catalog, namespace=None, properties=(), environment=None, **options):
        self.namespace = namespace or catalog.new_namespace()
        self.catalog, self.root, self.spark = catalog, root, spark
        tables = {"store": "iceberg", "iceberg_catalog": "lake", "iceberg_namespace": self.namespace}
        if "old_snapshots" in options:
            tables["old_snapshots"] = options.pop("old_snapshots")
        lake = {"type": "rest", "uri": catalog.uri, **dict(properties)}
        location = Location("profiles.yml", 4, 5)
        settings = {"tables": tables, "catalogs": {"lake": lake}}
        self.target = Target("shop", "local", settings, location, environment=environment)
        self.tables = spark_tables("iceberg", self.target, root, spark)
        self.local = local_tables("iceberg", self.target, root)
        self.create(**options)

    def create(self, types=TYPES, keys=(), **options):
        columns = tuple(Column(name, parse_type(type_)) for name, type_ in types.items())
        self.table = TableOutput(NAME, keys, columns, options)
        return self.tables.create(self.table, changes=False)

    def static(self):
        levels = self.local.namespace.levels
        return self.catalog.client.load_table((*levels, "events"))

    @property
    def path(self):
        return Path(urlsplit(self.static().location()).path)


def refused(call):
    """Return the diagnostic of a call that fails."""
    with pytest.raises(MillstreamError) as raised:
        call()
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, str(diagnostic.location.path)) == ("MS633", "profiles.yml")
    assert TOKEN not in diagnostic.message
    return diagnostic


def test_a_namespace_is_created_in_the_catalog_or_another_one_is_named(spark, tmp_path, catalog):
    with pytest.raises(MillstreamError):
        CatalogEvents(spark, tmp_path, catalog, "missing")
    diagnostic = refused(lambda: CatalogEvents(spark, tmp_path, catalog, "missing"))
    assert diagnostic.message == "the Iceberg catalog 'lake' has no namespace 'missing'"
    assert diagnostic.help == "create it in the catalog, or name another one: iceberg_namespace: …"
    namespace = catalog.new_namespace()
    events = CatalogEvents(spark, tmp_path, catalog, namespace)
    there = events.local
    missing = replace(there, namespace=replace(there.namespace, name="missing"))
    assert refused(missing.reached).message == diagnostic.message
    catalog.client.create_namespace("missing")
    try:
        assert missing.reached() == "catalog 'lake', namespace missing"
        CatalogEvents(spark, tmp_path, catalog, "missing").tables.drop(events.table)
    finally:
        catalog.client.drop_namespace("missing")


def test_a_catalog_that_does_not_answer(spark, tmp_path, catalog):
    nowhere = [("uri", "http://127.0.0.1:1"), ("token", Secret(TOKEN))]
    by_spark = refused(lambda: CatalogEvents(spark, tmp_path, catalog, properties=nowhere))
    assert by_spark.message.startswith("the Iceberg catalog 'lake' can't be used: ")
    assert by_spark.help == "start it, or fix uri and warehouse of 'lake' under `catalogs:`"
    events = CatalogEvents(spark, tmp_path, catalog)
    settings = {**events.target.settings, "catalogs": {"lake": {"type": "rest", **dict(nowhere)}}}
    without = local_tables("iceberg", replace(events.target, settings=settings), tmp_path)
    assert refused(without.reached).help == by_spark.help
    assert events.local.reached() == f"catalog 'lake', namespace {events.namespace}"


def test_a_token_that_is_refused_until_it_is_replaced(spark, tmp_path, catalog):
    with gateway(catalog.uri, TOKEN) as uri:
        server = [("uri", uri)]
        wrong = [*server, ("token", Secret(f"{TOKEN}-of-yesterday"))]
        by_spark = refused(lambda: CatalogEvents(spark, tmp_path, catalog, properties=wrong))
        assert by_spark.message.startswith("the Iceberg catalog 'lake' refuses access: ")
        remedy = "set a valid token or credential, with its scope, for 'lake' under `catalogs:`"
        assert by_spark.help == remedy
        events = CatalogEvents(spark, tmp_path, catalog, properties=[*server, ("token", Secret(TOKEN))])
        events.batch(0, ROW)
        settings = {**events.target.settings, "catalogs": {"lake": {"type": "rest", **dict(wrong)}}}
        without = local_tables("iceberg", replace(events.target, settings=settings), tmp_path)
        assert refused(without.reached).help == remedy
        assert refused(lambda: without.version(NAME)).help == remedy
        assert events.query("select id from events") == [(1,)]
        metadata = [file.read_bytes() for file in events.path.rglob("*") if file.is_file()]
        assert metadata
        assert not any(TOKEN.encode() in content for content in metadata)


def test_a_credential_gets_a_token(spark, tmp_path, catalog):
    with gateway(catalog.uri, TOKEN, "shop:open sesame") as uri:
        wrong = [("uri", uri), ("credential", Secret("shop:sesame"))]
        by_spark = refused(lambda: CatalogEvents(spark, tmp_path, catalog, properties=wrong))
        assert by_spark.message.startswith("the Iceberg catalog 'lake' refuses access: ")
        right = [("uri", uri), ("credential", Secret("shop:open sesame"))]
        events = CatalogEvents(spark, tmp_path, catalog, properties=right)
        events.batch(0, ROW)
        assert events.query("select id from events") == [(1,)]
        settings = {**events.target.settings, "catalogs": {"lake": {"type": "rest", **dict(wrong)}}}
        without = local_tables("iceberg", replace(events.target, settings=settings), tmp_path)
        assert refused(without.reached).help == by_spark.help


def test_a_table_goes_with_its_files_unless_the_catalog_removes_them(spark, tmp_path, catalog):
    events = CatalogEvents(spark, tmp_path, catalog, old_snapshots="0 hours")
    events.batch(0, ROW)
    version = events.local.version(NAME)
    events.batch(1, ROW)
    assert events.local.version(NAME) not in {None, version}
    folder = events.path
    events.tables.drop(events.table)
    events.tables.drop(events.table)
    assert not folder.exists()
    assert not events.tables.exists(NAME)
    assert events.local.version(NAME) is None
    events.create()
    events.batch(0, ROW)
    with events.static().transaction() as transaction:
        transaction.set_properties({"gc.enabled": "false"})
    events.batch(EVERY, ROW)
    assert len(events.static().snapshots()) == 2
    folder = events.path
    events.tables.drop(events.table)
    assert (folder / "data").is_dir()


def test_an_environment_has_a_namespace_of_its_own(spark, tmp_path, catalog):
    production = CatalogEvents(spark, tmp_path, catalog, types={"id": "bigint"})
    production.batch(0, (1,))
    alice = Environment("alice", "shop", frozenset())
    events = CatalogEvents(
        spark, tmp_path, catalog, production.namespace, environment=alice, types={"id": "bigint"}
    )
    events.batch(0, (2,))
    assert [row["id"] for row in events.read()] == [2]
    assert [row["id"] for row in production.read()] == [1]
    assert events.local.names() == ["events"]
    folder = events.path
    assert f"env-shop-alice--{production.namespace}" in str(folder)
    events.local.drop_all()
    events.local.drop_all()
    assert (events.local.names(), folder.exists()) == ([], False)
    assert [row["id"] for row in production.read()] == [1]
    # Without a table of its own, it reads production's.
    deferring = Environment("alice", "shop", frozenset((NAME,)))
    target = replace(events.target, environment=deferring)
    rows = spark_tables("iceberg", target, tmp_path, spark).rows(spark, NAME, ())
    assert [row["id"] for row in rows.collect()] == [1]


def test_pyiceberg_reads_a_table_as_the_page_says(spark, tmp_path, catalog):
    (reader,) = re.findall(r"```python\n([^`]*load_catalog[^`]*)```", (ROOT / "docs/lake.md").read_text())
    events = CatalogEvents(spark, tmp_path, catalog, types={"id": "bigint"})
    events.batch(0, (1,), (2,))
    names = {}
    reader = reader.replace("https://catalog.example/api/catalog", catalog.uri).replace(
        ', warehouse="lake"', ""
    )
    exec(reader.replace("shop.clean_orders", f"{events.namespace}.events"), names)
    assert names["orders"]["id"].to_pylist() == [1, 2]


def test_names_in_a_catalog_have_no_dot(spark, tmp_path, catalog):
    events = CatalogEvents(spark, tmp_path, catalog, types={"id": "bigint"})
    events.batch(0, (1,))
    rebuilt = replace(events.table, model=NAME.with_ending(".previous"))
    events.tables.copy(events.table, rebuilt)
    events.batch(1, (2,))
    assert events.local.names() == ["events", "millstream_previous_events"]
    events.tables.swap(rebuilt, events.table, "back", changes=False)
    assert [row["id"] for row in events.read()] == [1]
    events.batch(0, (3,))
    assert [row["id"] for row in events.read()] == [1]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_random_batches_are_what_duckdb_computes_of_the_same_rows(spark, tmp_path, catalog, seed):
    """By key with deletions, and append-only, in partitions; pyiceberg reads both."""
    dice = random.Random(seed)
    types = {"id": "bigint", "number": "bigint", "at": "timestamp"}
    keyed = CatalogEvents(spark, tmp_path, catalog, types=types, keys=("id",), order_by="number")
    partitions = [[], ["day(at)"], ["bucket(4, id)"]][seed % 3]
    appended = CatalogEvents(spark, tmp_path, catalog, types=types, partition_by=partitions)
    schema = "id bigint, number bigint, at timestamp, _deleted boolean"
    sent = []
    for batch in range(EVERY - 6, EVERY + 3):
        size = dice.choice([0, 1, 7, 40])
        rows = [
            (id_, len(sent) + number, ROW[4].replace(day=dice.randint(1, 5)), dice.random() < 0.2)
            for number, id_ in enumerate(dice.sample(range(60), size))
        ]
        sent += rows
        frame = spark.createDataFrame(rows, schema).coalesce(1)
        for _ in range(dice.choice([1, 2])):  # again, as after a kill
            keyed.tables.merge(frame, keyed.table, TableBatch("w", batch, deletes=True, new=False))
            appended.store(batch, frame.drop("_deleted"))
    names = ("id", "number", "at", "deleted")
    changes = pa.table(dict(zip(names, zip(*sent, strict=True), strict=True)))
    oracle = duckdb.connect()
    oracle.sql("set timezone = 'UTC'")
    oracle.register("changes", changes)
    oracle.register("keyed", keyed.static().scan().to_arrow())
    oracle.register("appended", appended.static().scan().to_arrow())
    newest = (
        'select id, number, "at" from (select *, row_number() over (partition by id order by number desc) as n '
        "from changes) where n = 1 and not deleted"
    )
    for stored, expected in (("keyed", newest), ("appended", 'select id, number, "at" from changes')):
        columns = f'select id, number, "at" from {stored}'
        assert oracle.sql(f"({expected}) except all ({columns})").fetchall() == []
        assert oracle.sql(f"({columns}) except all ({expected})").fetchall() == []
    assert oracle.sql("select count(*) from appended").fetchall() == [(len(sent),)]
