"""Tables over tables in Delta that are stored in PostgreSQL and MariaDB: they equal what DuckDB computes from the inputs."""

import duckdb
import pytest
from support.runs import built, errors, statuses, table_rows
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.core.types import DOUBLE, INT, STRING
from millstream.engine.queries.maintained import with_few_keys
from millstream.engine.queries.small_batches import evaluate_batch
from millstream.plan.nodes import Column
from millstream.queries.values import TableOutput
from millstream.stores.databases.spark import merge

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

EVENTS = """
    {{ config(materialized='table', unique_key='id', delete_when="kind = 'gone'") }}
    select id, user, kind, value from {{ source('web', 'events') }}
"""
IN_DUCKDB = {
    "per_user": """
        select user, count(*) as n, sum(value) as total, max(kind) as kind,
            cast(sum(cast(value as decimal(10, 2))) as decimal(20, 2)) as exact
        from events group by user
    """,
    "largest": """
        select id, user, value from events
        qualify row_number() over (partition by user order by value desc, id) <= 2
    """,
    "of_kinds": """
        select e.id, e.kind, k.n from events as e left join kinds as k on e.kind = k.kind
    """,
    "overall": "select 1 as one, count(*) as n, sum(value) as total from events",
}
KINDS = "select kind, count(*) as n from events group by kind"
KEYS = {"per_user": "user", "largest": "id", "of_kinds": "id", "overall": "one"}
MORE = {"overall": ", refresh='full'"}
BATCHES = [
    [
        (1, "a", "x", 1.0),
        (2, "a", "y", 2.5),
        (3, "b", "x", 4.0),
        (4, None, "x", 1.0),
        (5, "ü'\"\\", "z", -0.5),
    ],
    [(2, "b", "y", 2.5), (6, "a", "y", 9.0), (7, None, "z", 3.0)],
    [(1, "a", "gone", 1.0), (5, "ü'\"\\", "gone", 0.0), (8, "c", "x", 12345.75)],
    [(4, None, "gone", 0.0), (7, None, "gone", 0.0), (3, "b", "x", 4.0)],
]


def in_spark(sql):
    return sql.replace(" events", " {{ ref('stored_events') }}").replace(" kinds", " {{ ref('kinds') }}")


@pytest.fixture
def stored(shop, database):
    """Return the database with the tables of a project."""
    shop.write("profiles.yml", database.profiles(default=False))
    shop.model("stored_events", EVENTS)
    shop.model("kinds", "{{ config(materialized='table', unique_key='kind') }} " + in_spark(KINDS))
    for name, sql in IN_DUCKDB.items():
        config = (
            f"materialized='table', store='{database.store}', unique_key='{KEYS[name]}'{MORE.get(name, '')}"
        )
        shop.model(name, f"{{{{ config({config}) }}}} {in_spark(sql)}")
    return database


def send(shop, batch):
    shop.send(*((user, {"id": id_, "kind": kind, "value": value}) for id_, user, kind, value in batch))


def build(shop, spark):
    results, events = built(shop.root, spark)
    assert not errors(events), errors(events)
    return {node.id.partition(".")[2]: node.changes for node in results.results if node.changes}


def check(shop, database):
    """Compare each table with DuckDB over the events that are stored."""
    with duckdb.connect() as oracle:
        oracle.execute("create table events (id int, user text, kind text, value double)")
        events = table_rows(shop.root, "model.stored_events")
        oracle.executemany(
            "insert into events values (?, ?, ?, ?)", [tuple(event.values()) for event in events]
        )
        oracle.execute(f"create table kinds as {KINDS}")
        for name, sql in IN_DUCKDB.items():
            cursor = oracle.execute(sql)
            names = ", ".join(f'"{column[0]}"' for column in cursor.description)
            read = database.rows(f"select {names} from {name}")
            assert sorted(read, key=repr) == sorted(cursor.fetchall(), key=repr), name


def test_tables_equal_their_sql_after_every_build(shop, first_spark, stored):
    for batch in BATCHES:
        send(shop, batch)
        build(shop, first_spark)
        check(shop, stored)
    send(shop, [(9, "b", "x", 1.0)])
    changes = build(shop, first_spark)
    assert (changes["per_user"].touched, changes["per_user"].updated) == (1, 1)
    assert (changes["of_kinds"].touched, changes["overall"].updated) == (3, 1)
    check(shop, stored)
    # An edit computes all rows, and stores what differs.
    file = shop.root / "models/per_user.sql"
    file.write_text(file.read_text().replace("max(kind) as kind", "max(kind) as kind, min(id) as first"))
    build(shop, first_spark)
    assert stored.rows("select first from per_user where \"user\" = 'b'") == [(2,)]
    check(shop, stored)


def test_an_interruption_before_or_after_a_commit_changes_nothing(shop, first_spark, stored, monkeypatch):
    merge_batch, interrupted = merge.merge_batch, []

    def before(_rows, table, *_):
        interrupted.append(table.model)
        raise OSError("interrupted")

    def after(rows_to_store, table, *more):
        merge_batch(rows_to_store, table, *more)
        interrupted.append(table.model)
        raise OSError("interrupted")

    for batch in BATCHES:
        send(shop, batch)
        for merging in (before, after):
            with monkeypatch.context() as patched:
                patched.setattr(merge, "merge_batch", merging)
                results, _ = built(shop.root, first_spark)
                assert "error" in statuses(results).values()
        changes = build(shop, first_spark)
        assert not any(changes[name].stored for name in IN_DUCKDB), "it was stored before"
        check(shop, stored)
    assert set(interrupted) == {f"model.{name}" for name in IN_DUCKDB}
    assert len(interrupted) >= 2 * len(BATCHES)


def test_few_keys_are_compared_by_the_database(first_spark, database):
    columns = (Column("user", STRING), Column("id", INT), Column("share", DOUBLE))
    tables, table = database.tables, TableOutput(NodeId("model", "t"), ("user",), columns)
    tables.create(table, changes=False)
    values = ", ".join(f"('u{n}', {n}, {n})" for n in range(1, 1001))
    database.rows(f"insert into t values {values}")
    database.rows("insert into t values (null, 0, 0)")
    stored = tables.rows(first_spark, NodeId("model", "t"), columns)
    for keys, pushed, expected in (
        ([("u7", 7, 7.0), (None, 0, 0.0), ("u9", 9, 1.0)], "[*Or", [(None, 0), ("u7", 7), ("u9", 9)]),
        ([("u'7", 7, 7.0)], "[*IsNotNull(user), *IsNotNull(id), *EqualTo(user,u'7), *EqualTo(id,7)]", []),
        ([("u7", n, 0.0) for n in range(1001)], "[]", None),
    ):
        frame = first_spark.createDataFrame(keys, "a string, b int, c double")
        with evaluate_batch(frame) as few:
            less = with_few_keys(stored, few, ["USER", "id", "share"])
            assert f"PushedFilters: {pushed}" in physical(less)
            assert less.count() == (1001 if expected is None else len(expected))
            if expected is not None:
                assert sorted(map(tuple, less.select("user", "id").collect()), key=repr) == sorted(
                    expected, key=repr
                )


def physical(frame):
    return frame._jdf.queryExecution().executedPlan().toString()
