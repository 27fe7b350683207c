"""SQL over Delta tables, reference topics and seeds."""

import shutil
from datetime import datetime, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.stores.query import run_query
from millstream.stores.tables.relations import StoredRelation

UTC = timezone.utc


def refused(sql, rest):
    with pytest.raises(MillstreamError) as caught:
        run_query(sql, rest)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def test_every_kind_of_value(rest):
    answered = run_query("select * from totals order by 1", rest())
    assert answered.columns == ("userId", "total", "seen", "place", "tags", "counts", "price", "raw")
    seen, address = datetime(2024, 1, 1, 23, 30, tzinfo=UTC), {"city": "Rome", "zip": None}
    assert answered.rows == [
        ("ann", 3, seen, address, ["a"], {"x": 1}, Decimal("1.50"), b"\x00\xff"),
        ("bob", None, seen, address, [], {}, None, None),
        ("cid", 5, seen, address, None, None, None, None),
    ]


def test_a_column_that_the_model_no_longer_has(rest):
    columns = (("USERID", "string"), ("total", "bigint"))
    project = rest(StoredRelation(NodeId("model", "totals"), "totals", "table", columns))
    answered = run_query("select * from totals where total = 3", project)
    assert (answered.columns, answered.rows) == (("userId", "total"), [("ann", 3)])
    assert refused("select seen from totals", project).code == "MS845"


def test_tables_reference_topics_and_seeds_are_joined(rest):
    sql = "select p.product_id, s.rank from shop.products p join segments s using (segment) order by 1"
    assert run_query(sql, rest()).rows == [("p1", 1), ("p2", None)]


def test_names_in_any_case(rest):
    answered = run_query("SELECT USERID, Totals.Total AS Sum FROM TOTALS WHERE userid = 'ann'", rest())
    assert (answered.columns, answered.rows) == (("userId", "Sum"), [("ann", 3)])


@pytest.mark.parametrize(
    ("limit", "rows", "more"), [(2, 2, True), (3, 3, False), (0, 0, True), (None, 3, False)]
)
def test_a_limit(rest, limit, rows, more):
    answered = run_query("select * from totals", rest(), limit)
    assert (len(answered.rows), answered.more) == (rows, more)


def test_days_are_those_of_the_targets_zone(rest):
    sql = "select seen, date_trunc('day', seen) as day, cast(seen as date) as date from totals limit 1"
    ((seen, day, date),) = run_query(sql, rest(timezone="Europe/Berlin")).rows
    assert seen == datetime(2024, 1, 1, 23, 30, tzinfo=UTC)
    assert day == datetime(2024, 1, 2, tzinfo=ZoneInfo("Europe/Berlin"))
    assert date.isoformat() == "2024-01-02"


def test_only_named_tables_are_opened(rest, tmp_path):
    project = rest()
    shutil.rmtree(tmp_path / ".millstream/local/tables/_sources")
    assert run_query("select count(*) from totals where userId <> 'shop.products'", project).rows == [(3,)]


def test_no_table_at_all(rest):
    assert run_query("select 1 as one, 'unbuilt' as two", rest()).rows == [(1, "unbuilt")]


def test_a_column_of_the_name_of_a_table_that_is_not_there(rest):
    assert run_query("with t as (select 1 as unbuilt) select unbuilt from t", rest()).rows == [(1,)]


@pytest.mark.parametrize(
    ("name", "code", "message", "remedy"),
    [
        ("totls", "MS842", "there is no table 'totls'", "did you mean 'totals'?"),
        ("zzzzz", "MS842", "there is no table", "tables and seeds: totals, unbuilt, shop.products, segments"),
        ("products", "MS842", "there is no table 'products'", "did you mean 'shop.products'?"),
        ("unbuilt", "MS843", "'unbuilt' has not been built", "millstream build --select +unbuilt"),
        ("stg", "MS844", "'stg' is a view", "millstream show stg"),
        ("out", "MS844", "'out' is a Kafka topic", "millstream consume out"),
        ("shop.clicks", "MS844", "'shop.clicks' is a Kafka topic", "millstream consume shop.clicks"),
        ("clicks", "MS844", "'shop.clicks' is a Kafka topic", "table: true"),
        (
            '"shop.products"',
            "MS842",
            "no table has the name 'shop.products', with a dot in it",
            'without quotes, or quote each part: "shop"."products"',
        ),
    ],
)
def test_what_is_no_table_or_none_yet(rest, name, code, message, remedy):
    diagnostic = refused(f"select *\nfrom {name}", rest())
    assert (diagnostic.code, diagnostic.line) == (code, f"from {name}")
    assert message in diagnostic.message
    assert remedy in diagnostic.help
    location = diagnostic.location
    assert (location.line, diagnostic.line[location.column - 1 : location.end - 1]) == (2, name)


def test_a_reference_topic_that_is_not_built(rest, tmp_path):
    project = rest()
    shutil.rmtree(tmp_path / ".millstream/local/tables/_sources")
    diagnostic = refused("select * from shop.products", project)
    assert diagnostic.code == "MS843"
    assert diagnostic.message == "'shop.products' has not been built: no model that was built looks it up"
    assert "`millstream consume shop.products`" in diagnostic.help


def test_a_reference_topic_whose_versions_only_a_stream_joins(rest, tmp_path):
    project = rest()
    shutil.rmtree(tmp_path / ".millstream/local/tables/_sources")
    products = project.relations["shop.products"]
    versioned = replace(products, options={**products.options, "versions": "30 days"})
    project = replace(project, relations={**project.relations, "shop.products": versioned})
    diagnostic = refused("select * from shop.products", project)
    assert (
        "a stream that joins it FOR SYSTEM_TIME AS OF keeps the versions in its state" in diagnostic.message
    )


@pytest.mark.parametrize(
    ("sql", "message", "remedy", "fragment"),
    [
        ("select totl from totals", "column 'totl' does not exist", "did you mean 'total'?", "totl"),
        (
            "select uppper(userId) from totals",
            "function 'uppper' does not exist",
            "did you mean 'upper'?",
            "uppper",
        ),
        ("select total frm totals where", "expected: ", "DataFusion", "totals"),
        ("select total +", "expected: an expression, found: the end", "DataFusion", None),
        ("select cast('a' as int) as x", "cannot cast string 'a' to value of int type", "DataFusion", None),
        ("select 1 / (total - 3) from totals", "divide by zero", "DataFusion", None),
        ("", "the query is empty", "write a query", None),
    ],
)
def test_wrong_sql(rest, sql, message, remedy, fragment):
    diagnostic = refused(sql, rest())
    assert diagnostic.code == "MS845"
    assert message in diagnostic.message
    assert "\n" not in diagnostic.message
    assert remedy in diagnostic.help
    if fragment:
        assert sql[diagnostic.location.column - 1 : diagnostic.location.end - 1] == fragment


@pytest.mark.parametrize(
    "sql", ["copy (select 1) to '{}'", "select 1; copy (select 1) to '{}'", "select * into t from totals"]
)
def test_nothing_is_written(rest, tmp_path, sql):
    target = tmp_path / "written.csv"
    assert refused(sql.format(target), rest()).code in {"MS848", "MS845"}
    assert not target.exists()


def test_a_typo_of_select(rest):
    assert refused("selct 1", rest()).help == "did you mean 'select'?"


def test_a_table_whose_files_are_gone(rest, tmp_path):
    project = rest()
    for file in (tmp_path / ".millstream/local/tables/totals").glob("*.parquet"):
        file.unlink()
    assert refused("select * from totals", project).code == "MS845"


def test_a_damaged_table(rest, tmp_path):
    project = rest()
    (log,) = (tmp_path / ".millstream/local/tables/totals/_delta_log").glob("*.json")
    log.write_text("{")
    diagnostic = refused("select * from totals", project)
    assert (diagnostic.code, "'totals' can't be read" in diagnostic.message) == ("MS847", True)
