"""SQL over tables in PostgreSQL."""

from datetime import datetime, timezone
from decimal import Decimal

import pytest
from support.postgres import PASSWORD, rows

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.stores.query import run_query
from millstream.stores.tables.relations import StoredRelation

ORDERS = StoredRelation(
    NodeId("model", "orders"),
    "orders",
    "table",
    (("userId", "string"), ("price", "decimal(10,2)"), ("at", "timestamp"), ("place", "struct<city:string>")),
    {"store": "postgres"},
)
SEEN = datetime(2024, 1, 1, 23, 30, tzinfo=timezone.utc)


@pytest.fixture
def shop(rest, postgres):
    """Return the project with a table in PostgreSQL."""
    rows(postgres, 'create schema "Shop"')
    rows(postgres, "create table orders (userid text, price numeric(10,2), at timestamptz, place jsonb)")
    rows(
        postgres,
        """insert into orders values ('ann', 1.5, '2024-01-01 23:30Z', '{"city": "Rome"}'), ('eve', null, null, null)""",
    )
    address = postgres.url.replace(
        "://", f"://owner:{PASSWORD.replace('%', '%25').replace('/', '%2F').replace(' ', '%20')}@"
    )
    tables = {"url": address, "database_schema": "Shop"}
    return lambda **settings: rest(ORDERS, StoredRelation(NodeId("model", "later"), "later", "table", (), {"store": "postgres"}), tables=tables, **settings)  # fmt: skip


def refused(sql, rest):
    with pytest.raises(MillstreamError) as caught:
        run_query(sql, rest)
    (diagnostic,) = caught.value.diagnostics
    assert PASSWORD not in str(diagnostic)
    return diagnostic


def test_the_database_answers(shop):
    answered = run_query("select *, place ->> 'city' as city from orders order by 1", shop())
    assert answered.columns == ("userid", "price", "at", "place", "city")
    assert answered.rows == [
        ("ann", Decimal("1.50"), SEEN, {"city": "Rome"}, "Rome"),
        ("eve", None, None, None, None),
    ]


def test_days_are_those_of_the_targets_zone(shop):
    answered = run_query(
        "select at::date::text from orders where at is not null", shop(timezone="Europe/Berlin")
    )
    assert answered.rows == [("2024-01-02",)]


@pytest.mark.parametrize(
    ("limit", "count", "more"), [(1, 1, True), (2, 2, False), (0, 0, True), (None, 2, False)]
)
def test_a_limit(shop, limit, count, more):
    answered = run_query("select userid from orders -- all", shop(), limit)
    assert (len(answered.rows), answered.more) == (count, more)


def test_tables_of_both_stores_are_joined(shop):
    sql = "select o.userId, o.price * 2 as twice, o.at, o.place, t.total from orders o left join totals t on t.userId = o.userId order by 1"
    assert run_query(sql, shop()).rows == [
        ("ann", Decimal("3.00"), SEEN, '{"city": "Rome"}', 3),
        ("eve", None, None, None, None),
    ]


@pytest.mark.parametrize(
    ("sql", "code", "message"),
    [
        ("select * from orders, laterr", "MS842", "no table 'laterr'"),
        ("select * from later", "MS843", "'later' has not been built"),
        ("select * from later join totals on true", "MS843", "'later' has not been built"),
        ("select * from orders join stg on true", "MS844", "'stg' is a view"),
        ("select nope from orders", "MS845", "nope"),
        ("select 1 / (price - price) from orders", "MS845", "division by zero"),
        ("delete from orders", "MS848", "'delete'"),
        (
            "with a as (delete from orders returning *) select * from a",
            "MS845",
            "must not contain data-modifying",
        ),
        ("select nextval('numbers') from orders", "MS845", "read-only transaction"),
        ("select 1 from orders; delete from orders", "MS845", "multiple commands"),
        ("select * into other from orders", "MS848", "into"),
    ],
)
def test_mistakes(shop, postgres, sql, code, message):
    rows(postgres, "create sequence numbers")
    diagnostic = refused(sql, shop())
    assert (diagnostic.code, message in diagnostic.message) == (code, True), diagnostic
    assert diagnostic.help
    assert rows(postgres, "select count(*) from orders") == [(2,)]


def test_the_place_in_the_sql(shop):
    diagnostic = refused("select userid,\n  nope from orders", shop())
    assert (diagnostic.location.line, diagnostic.location.column, diagnostic.location.end) == (2, 3, 7)


def test_columns_that_the_model_no_longer_has_are_not_read(shop, postgres):
    rows(postgres, "alter table orders add column old integer default 7")
    answered = run_query("select * from orders order by 1;", shop(), 1)
    assert (answered.columns, answered.more) == (("userid", "price", "at", "place"), True)
    renamed = "with o as (select * from orders), orders as (select 1 as old) select * from o, orders -- all"
    assert run_query(renamed, shop()).columns == ("userid", "price", "at", "place", "old")
    diagnostic = refused("select userid,\n  old from orders", shop())
    assert (diagnostic.code, diagnostic.location.line, diagnostic.location.column) == ("MS845", 2, 3)


def test_a_server_that_is_not_there(rest):
    diagnostic = refused(
        "select * from orders", rest(ORDERS, tables={"url": f"postgresql://u:{'x' * 9}@127.0.0.1:1/shop"})
    )
    assert (diagnostic.code, "127.0.0.1:1/shop" in diagnostic.message, "x" * 9 in diagnostic.message) == (
        "MS846",
        True,
        False,
    )
