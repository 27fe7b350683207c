"""SQL over tables in MySQL."""

from datetime import date, datetime, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace
from support.mariadb import PASSWORD, rows

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.project.names import Environment
from millstream.stores.query import run_query
from millstream.stores.tables.relations import StoredRelation

ORDERS = StoredRelation(
    NodeId("model", "Orders"),
    "Orders",
    "table",
    (
        ("userId", "string"),
        ("price", "decimal(10,2)"),
        ("at", "timestamp"),
        ("paid", "boolean"),
        ("place", "struct<city:string>"),
    ),
    {"store": "mysql"},
)
LATER = StoredRelation(NodeId("model", "later"), "later", "table", (("id", "int"),), {"store": "mysql"})
SEEN = datetime(2024, 1, 1, 23, 30, tzinfo=timezone.utc)


@pytest.fixture
def shop(rest, mariadb):
    """Return the project with a table in MySQL."""
    rows(mariadb, 'create database "Shop"', database=None)
    rows(
        mariadb,
        "create table orders (userid longtext, price decimal(10,2), at datetime(6), paid boolean, place longtext)",
    )
    rows(
        mariadb,
        """insert into orders values ('ann', 1.5, '2024-01-01 23:30:00', true, '{"city": "Rome"}'),
            ('eve', null, null, null, null)""",
    )
    tables = {"mysql_url": mariadb.url, "mysql_username": "owner", "mysql_password": PASSWORD}
    return lambda **settings: rest(ORDERS, LATER, tables=tables, **settings)


def refused(sql, rest):
    with pytest.raises(MillstreamError) as caught:
        run_query(sql, rest)
    (diagnostic,) = caught.value.diagnostics
    assert PASSWORD not in str(diagnostic)
    return diagnostic


def test_the_database_answers_with_the_values_of_the_model(shop):
    answered = run_query("select *, json_value(place, '$.city') as city from ORDERS order by 1", shop())
    assert answered.columns == ("userid", "price", "at", "paid", "place", "city")
    assert answered.rows == [
        ("ann", Decimal("1.50"), SEEN, True, {"city": "Rome"}, "Rome"),
        ("eve", None, None, None, None, None),
    ]


def test_times_are_in_the_targets_zone_and_days_in_utc(shop):
    sql = "select at, date(at) from orders where at is not null"
    ((time, day),) = run_query(sql, shop(timezone="Europe/Berlin")).rows
    assert (time, time.tzinfo, day) == (SEEN, ZoneInfo("Europe/Berlin"), date(2024, 1, 1))


def test_texts_and_names_are_quoted_as_in_other_databases(shop):
    sql = """select "userid" || '\\' as `x` from orders where userid = 'ann'"""
    assert run_query(sql, shop()).rows == [("ann\\",)]


@pytest.mark.parametrize(
    ("limit", "count", "more"), [(1, 1, True), (2, 2, False), (0, 0, True), (None, 2, False)]
)
def test_a_limit(shop, limit, count, more):
    answered = run_query("select userid from (select * from orders) as o -- all", shop(), limit)
    assert (len(answered.rows), answered.more) == (count, more)


def test_tables_of_both_stores_are_joined(shop):
    sql = (
        "select o.userId, o.price * 2 as twice, o.at, o.paid, o.place, t.total"
        " from orders o left join totals t on t.userId = o.userId order by 1"
    )
    assert run_query(sql, shop()).rows == [
        ("ann", Decimal("3.00"), SEEN, True, '{"city": "Rome"}', 3),
        ("eve", None, None, None, None, None),
    ]


@pytest.mark.parametrize(
    ("sql", "code", "message", "fragment"),
    [
        ("select * from orders, laterr", "MS842", "no table 'laterr'", "laterr"),
        ("select * from later", "MS843", "'later' has not been built", "later"),
        ("select * from later join totals on true", "MS843", "'later' has not been built", "later"),
        ("select * from orders join stg on true", "MS844", "'stg' is a view", "stg"),
        ("select nope from orders", "MS845", "nope", "nope"),
        ("select o.nope from orders o", "MS845", "nope", "nope"),
        ("select uppper(userid) from orders", "MS845", "uppper", "uppper"),
        ("select userid from orders order order", "MS845", "syntax error near 'order'", "order"),
        ("delete from orders", "MS848", "'delete'", "delete"),
        ("with a as (select 1) delete from orders", "MS845", "syntax error near 'delete", "delete"),
        ("select 1 from orders; delete from orders", "MS845", "syntax error near 'delete", "delete"),
        ("select nextval(numbers) from orders", "MS845", "READ ONLY transaction", None),
        ("select * into outfile '/tmp/x' from orders", "MS848", "into", "into"),
    ],
)
def test_mistakes(shop, mariadb, sql, code, message, fragment):
    rows(mariadb, "create sequence numbers")
    diagnostic = refused(sql, shop())
    assert (diagnostic.code, message in diagnostic.message) == (code, True), diagnostic
    assert diagnostic.help
    if fragment is not None:
        location = diagnostic.location
        assert sql[location.column - 1 : location.end - 1] == fragment
    assert rows(mariadb, "select count(*) from orders") == [(2,)]


def test_columns_that_the_model_no_longer_has_are_not_read(shop, mariadb):
    rows(mariadb, "alter table orders add column old integer default 7")
    answered = run_query("select * from orders order by 1;", shop(), 1)
    assert (answered.columns, answered.more) == (("userid", "price", "at", "paid", "place"), True)
    assert answered.rows[0][2:] == (SEEN, True, {"city": "Rome"})
    both = "select o.*, p.* from orders o, orders p"
    assert len(run_query(both, shop()).columns) == 10
    named = "with o as (select * from orders), p as (select 1 as old) select * from o, p -- all"
    assert run_query(named, shop()).columns == ("userid", "price", "at", "paid", "place", "old")
    diagnostic = refused("select userid,\n  old from orders", shop())
    assert (diagnostic.code, diagnostic.location.line, diagnostic.location.column) == ("MS845", 2, 3)


def test_an_environment_reads_tables_of_production(shop, mariadb):
    project = shop()
    alice = Environment("alice", "shop", frozenset({ORDERS.id}))
    project = replace(project, target=replace(project.target, environment=alice))
    assert [row[0] for row in run_query("select userid from orders order by 1", project).rows] == [
        "ann",
        "eve",
    ]
    assert refused("select * from later", project).code == "MS843"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (f"mysql://u:{'x' * 9}@127.0.0.1:1/shop", "127.0.0.1:1/shop can't be reached"),
        (f"mysql://u:{'x' * 9}@127.0.0.1:1", "the address of MySQL is invalid"),
        (f"mysql://u:{'x' * 9}@127.0.0.1:port/shop", "the address of MySQL is invalid"),
        (f"postgresql://u:{'x' * 9}@127.0.0.1/shop", "the address of MySQL is invalid"),
        (f"mysql://u:{'x' * 9}@127.0.0.1:1/shop?sslmode=on", "'sslmode' is not a parameter"),
    ],
)
def test_a_server_that_is_not_there(rest, url, message):
    diagnostic = refused("select * from orders", rest(ORDERS, tables={"mysql_url": url}))
    assert (diagnostic.code, message in diagnostic.message) == ("MS846", True), diagnostic
    assert "x" * 9 not in str(diagnostic)
