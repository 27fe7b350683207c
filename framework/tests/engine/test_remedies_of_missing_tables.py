"""Models over tables that nobody has built, or that someone has removed."""

import shutil

import pytest
from support.running import running
from support.runs import built, errors, statuses, table_rows
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import FullRefresh
from millstream.deploy.values import QueryFailed
from millstream.project.load import load_project
from millstream.stores.delta.folder import delta_folder

pytestmark = SPARK_WARNINGS

READERS = {
    "joined": """
        {{ config(materialized='sink', key='user') }}
        select e.user, e.id, t.total from {{ source('web', 'events') }} as e
        left join {{ ref('totals') }} as t on e.user = t.user
    """,
    "copied": """
        {{ config(materialized='table', unique_key='user') }}
        select user, total * 2 as total from {{ ref('totals') }}
    """,
    "changes": """
        {{ config(materialized='sink', key='user') }}
        select user, total from {{ ref('totals') }}
    """,
    "grouped": """
        {{ config(materialized='table', unique_key='total') }}
        select total, count(*) as users from {{ ref('totals') }} group by total
    """,
}


@pytest.fixture
def shop_with_readers(shop):
    shop.model("totals", TOTALS)
    for name, sql in READERS.items():
        shop.model(name, sql)
    shop.send(event(1))
    return shop


def remove(shop, name):
    shutil.rmtree(
        delta_folder(load_project(shop.root, None, None, None).target, shop.root).read(NodeId.parse(name))
    )


@pytest.mark.parametrize(
    "name",
    ["joined", "grouped", *(pytest.param(name, marks=pytest.mark.long) for name in ("copied", "changes"))],
)
def test_a_build_over_a_table_that_was_never_built_says_what_to_build(shop_with_readers, first_spark, name):
    shop = shop_with_readers
    results, events = built(shop.root, first_spark, models=frozenset({f"model.{name}"}))
    (diagnostic,) = errors(events)
    assert statuses(results) == {name: "error"}
    assert (diagnostic.code, diagnostic.message) == ("MS843", "'totals' has not been built")
    assert diagnostic.help == "build it first: `millstream build --select +totals`"
    built(shop.root, first_spark, models=frozenset({"model.totals"}))
    results, events = built(shop.root, first_spark, models=frozenset({f"model.{name}"}))
    assert statuses(results) == {name: "success"}, errors(events)


def test_a_run_over_a_table_that_was_never_built_says_so_and_goes_on_once_it_exists(
    shop_with_readers, first_spark
):
    shop = shop_with_readers
    with running(shop.root, first_spark, models=frozenset({"model.copied"})) as run:
        run.until(lambda: run.of(QueryFailed))
    assert {(failed.diagnostic.code, failed.diagnostic.message) for failed in run.of(QueryFailed)} == {
        ("MS843", "'totals' has not been built")
    }
    built(shop.root, first_spark, models=frozenset({"model.totals"}))
    with running(shop.root, first_spark, models=frozenset({"model.copied"})) as run:
        run.until(lambda: table_rows(shop.root, "model.copied"))
    assert table_rows(shop.root, "model.copied") == [{"user": "a", "total": 2.0}]


@pytest.mark.long
def test_a_table_that_is_gone_is_not_continued_without_its_rows(shop_with_readers, first_spark):
    shop = shop_with_readers
    results, events = built(shop.root, first_spark)
    assert set(statuses(results).values()) == {"success"}, errors(events)
    remove(shop, "model.totals")
    shop.send(event(2))
    results, events = built(shop.root, first_spark, models=frozenset({"model.totals"}))
    (diagnostic,) = errors(events)
    assert diagnostic.code == "MS696"
    assert diagnostic.help.startswith(
        "compute it from the start: millstream build --full-refresh --select totals "
    )
    for name in READERS:
        results, events = built(shop.root, first_spark, models=frozenset({f"model.{name}"}))
        assert [diagnostic.code for diagnostic in errors(events)] == ["MS843"], name
    built(shop.root, first_spark, models=frozenset({"model.totals"}), intent=FullRefresh())
    assert table_rows(shop.root, "model.totals") == [{"user": "a", "total": 2.0}]
    results, events = built(shop.root, first_spark)
    assert set(statuses(results).values()) == {"success"}, errors(events)
    assert table_rows(shop.root, "model.copied") == [{"user": "a", "total": 4.0}]


NEW_COLUMN = TOTALS.replace("as total", "as total, count(*) as events")
OF_NEW_COLUMN = {
    "joined": READERS["joined"].replace("t.total", "t.events"),
    "changes": READERS["changes"].replace("user, total", "user, events"),
    "grouped": """
        {{ config(materialized='table', unique_key='user') }}
        select user, total from {{ ref('totals') }} as t where events > (select min(o.events) - 1 from {{ ref('totals') }} as o)
    """,
}  # fmt: skip


def check_new_column(shop, spark, readers):
    """Build a table, then only the readers of a column that it has since."""
    totals = frozenset({"model.totals"})
    shop.model("totals", TOTALS)
    results, events = built(shop.root, spark, models=totals)
    assert statuses(results) == {"totals": "success"}, errors(events)
    shop.model("totals", NEW_COLUMN)
    for name in readers:
        shop.model(name, OF_NEW_COLUMN[name])
        results, events = built(shop.root, spark, models=frozenset({f"model.{name}"}))
        (diagnostic,) = errors(events)
        assert statuses(results) == {name: "error"}
        text = diagnostic.code, diagnostic.message, diagnostic.help
        expected = "'totals' was built before it had the column 'events'"
        assert text == ("MS843", expected, "build it first: `millstream build --select +totals`")
        assert (diagnostic.location.path, "ref('totals')" in diagnostic.line) == (f"models/{name}.sql", True)
    results, events = built(shop.root, spark, models=totals)
    (diagnostic,) = errors(events)
    assert diagnostic.code == "MS870"
    built(shop.root, spark, models=totals, intent=FullRefresh())
    results, events = built(shop.root, spark, models=frozenset(f"model.{name}" for name in readers))
    assert statuses(results) == dict.fromkeys(readers, "success"), errors(events)


@pytest.mark.long
def test_a_build_over_a_table_without_a_new_column_says_what_to_build(shop, first_spark):
    shop.send(event(1))
    check_new_column(shop, first_spark, OF_NEW_COLUMN)


@pytest.mark.long
def test_a_table_in_a_database_without_a_new_column(shop, first_spark, database):
    shop.write("profiles.yml", database.profiles())
    shop.send(event(1))
    check_new_column(shop, first_spark, ["joined"])


@pytest.mark.long
def test_tables_in_a_database_that_were_never_built_or_are_gone(shop, first_spark, database):
    shop.write("profiles.yml", database.profiles())
    shop.model("totals", TOTALS)
    shop.model("joined", READERS["joined"])
    shop.send(event(1))
    joined, totals = frozenset({"model.joined"}), frozenset({"model.totals"})
    _, events = built(shop.root, first_spark, models=joined)
    assert [diagnostic.code for diagnostic in errors(events)] == ["MS843"]
    results, events = built(shop.root, first_spark)
    assert set(statuses(results).values()) == {"success"}, errors(events)
    database.rows("drop table totals")
    shop.send(event(2))
    for models, code in ((totals, "MS696"), (joined, "MS843")):
        _, events = built(shop.root, first_spark, models=models)
        assert [diagnostic.code for diagnostic in errors(events)] == [code]
    built(shop.root, first_spark, models=totals, intent=FullRefresh())
    results, events = built(shop.root, first_spark)
    assert set(statuses(results).values()) == {"success"}, errors(events)
