"""Where tables and checkpoints are."""

import subprocess
import sys

import pytest

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.project.folders import checkpoints_of
from millstream.project.secrets import Secret
from millstream.project.values import Target
from millstream.stores.delta.folder import delta_folder
from millstream.stores.folders import TableFolder
from millstream.stores.local import all_local_tables, local_tables, store_of
from millstream.stores.postgres.schema import PostgresSchema, postgres_schema
from millstream.stores.registry import STORES, jar_files, store_declaration
from millstream.stores.spark import streamed_tables

URL = "postgresql://db:5432/shop"


def target(**settings):
    return Target("shop", "local", settings)


def test_by_default_below_the_project_by_target(tmp_path):
    local_folder = f"{tmp_path}/.millstream/local"
    assert delta_folder(target(), tmp_path) == TableFolder(f"{local_folder}/tables")
    assert checkpoints_of(target(), tmp_path) == f"{local_folder}/checkpoints"


@pytest.mark.parametrize(
    ("path", "template"),
    [
        ("s3a://shop/tables", "s3a://shop/tables"),
        ("file:/data/tables", "file:/data/tables"),
        ("/data/tables", "/data/tables"),
        ("data/tables", "{root}/data/tables"),
        (Secret("/data/tables"), "/data/tables"),
    ],
)
def test_where_the_target_says(tmp_path, path, template):
    expected = template.format(root=tmp_path)
    assert delta_folder(target(tables={"path": path}), tmp_path).path == expected
    assert checkpoints_of(target(checkpoints=path), tmp_path) == expected


@pytest.mark.parametrize(
    ("relation", "folder"),
    [
        (NodeId("model", "totals"), "s3a://x/totals"),
        (NodeId("source", "shop.products"), "s3a://x/_sources/shop.products"),
    ],
)
@pytest.mark.parametrize("base", ["s3a://x", "s3a://x/"])
def test_each_table_has_a_folder(relation, folder, base):
    assert TableFolder(base).read(relation) == TableFolder(base).written(relation) == folder


def test_the_option_of_a_model_comes_before_the_targets():
    both = target(tables={"url": URL})
    assert store_of(NodeId("model", "a"), None, both) == "delta"
    assert store_of(NodeId("model", "a"), "postgres", both) == "postgres"
    both = target(tables={"store": "postgres", "url": URL})
    assert store_of(NodeId("model", "a"), None, both) == "postgres"
    assert store_of(NodeId("model", "a"), "delta", both) == "delta"


def test_reference_topics_are_always_in_delta():
    assert (
        store_of(NodeId("source", "shop.products"), None, target(tables={"store": "postgres", "url": URL}))
        == "delta"
    )


def test_a_model_in_postgresql_needs_one():
    with pytest.raises(
        MillstreamError, match=r"MS841: the table 'totals'.* 'local' does not configure"
    ) as caught:
        store_of(NodeId("model", "totals"), "postgres", target())
    assert caught.value.diagnostics[0].help.startswith("add tables: {url: postgresql://host:5432/name, …}")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"url": URL}, PostgresSchema(URL)),
        ({"url": URL, "username": "u", "password": Secret("p"), "database_schema": "s"}, PostgresSchema(URL, "u", "p", "s")),
        ({"url": Secret("postgresql://u:p%40ss@db:5432/shop")}, PostgresSchema(URL, "u", "p@ss")),
        ({"url": "jdbc:postgresql://db:5432/shop?user=u&password=p&sslmode=require"}, PostgresSchema(f"{URL}?sslmode=require", "u", "p")),
        ({"url": "postgresql://u:p@db:5432/shop", "username": "v", "password": "q"}, PostgresSchema(URL, "v", "q")),
        ({"url": "postgresql:///shop"}, PostgresSchema("postgresql:///shop")),
    ],
)  # fmt: skip
def test_the_database(settings, expected):
    assert postgres_schema(target(tables=settings)) == expected


def test_a_password_is_never_shown():
    for password in ("hush", Secret("hush")):
        assert "hush" not in repr(PostgresSchema(URL, "u", password))
    assert "hush" not in repr(postgres_schema(target(tables={"url": "postgresql://u:hush@db/shop"})))


def test_two_tables_are_in_the_same_store_where_they_are_in_one_place(tmp_path):
    both = {"url": URL, "mysql_url": "mysql://db/shop"}
    one, other = target(tables=both | {"password": "p"}), target(tables=both | {"url": f"{URL}2"})
    for store in STORES:
        assert local_tables(store, one, tmp_path) == local_tables(store, one, tmp_path)
    assert local_tables("postgres", one, tmp_path) != local_tables("postgres", other, tmp_path)


def test_clean_lists_what_it_leaves(tmp_path):
    local, elsewhere = tmp_path / ".millstream/local", tmp_path / "tables"
    elsewhere.mkdir()
    configured = target(tables={"path": str(elsewhere), "url": URL})
    assert [tables.outside(local) for tables in all_local_tables(configured, tmp_path)] == [
        str(elsewhere),
        f"{URL}, schema public",
    ]
    assert [tables.outside(local) for tables in all_local_tables(target(), tmp_path)] == [None]


def test_changes_need_a_store_with_a_change_feed(tmp_path):
    with pytest.raises(MillstreamError, match=r"MS875: 'totals' is stored in PostgreSQL") as caught:
        streamed_tables(NodeId("model", "totals"), "postgres", target(tables={"url": URL}), tmp_path, None)
    assert caught.value.diagnostics[0].help == "give 'totals' store: delta, or look it up in a join"


def test_no_two_stores_share_an_option_or_a_jar():
    options = [name for store in STORES for name in store_declaration(store).options.__struct_fields__]
    assert len(options) == len(set(options))
    assert set(jar_files()) <= set(STORES)


def test_tables_are_found_without_spark_and_without_a_client_library():
    code = (
        "import sys; from pathlib import Path\n"
        "from millstream.project.values import Target\n"
        "from millstream.stores.local import all_local_tables\n"
        "target = Target('shop', 'local', {'tables': {'url': 'postgresql://db/shop'}})\n"
        "print(len(all_local_tables(target, Path())))\n"
        "print([m for m in ('pyspark', 'psycopg', 'deltalake') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["2", "[]"]
