"""Batches stored in a real PostgreSQL."""

from datetime import date, datetime, timezone
from decimal import Decimal

import pytest
from support.postgres import PASSWORD, rows

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.types import BIGINT, STRING, parse_type
from millstream.plan.nodes import Column
from millstream.queries.values import TableOutput
from millstream.stores.postgres.schema import PostgresSchema
from millstream.stores.postgres.spark.merge import merge_batch
from millstream.stores.postgres.table import create_table, drop_table
from millstream.stores.spark import TableBatch

NOON = datetime(2024, 1, 1, 12, 0, 0, 123456, tzinfo=timezone.utc)


def table(keys=("user_id",), *, name="totals", **columns):
    columns = columns or {"user_id": "string", "total": "bigint"}
    options = {"order_by": columns.pop("order_by")} if "order_by" in columns else {}
    typed = tuple(Column(name, parse_type(kind)) for name, kind in columns.items())
    return TableOutput(NodeId("model", name), keys, typed, options)


@pytest.fixture
def store(spark, postgres):
    """Return a function that stores rows as a batch."""

    def call(output, values, batch=0, *, deletes=False, query="totals/1"):
        columns = [f"`{column.name}` {column.type}" for column in output.columns]
        frame = spark.createDataFrame(
            values, ", ".join([*columns, *(["_deleted boolean"] if deletes else [])])
        )
        merge_batch(frame, output, postgres, TableBatch(query, batch, deletes=deletes, new=False))

    return call


def stored(postgres, name="totals"):
    return rows(postgres, f"select * from {name} order by 1 nulls last")


def test_new_rows_are_inserted_and_known_ones_replaced(postgres, store):
    output = table()
    create_table(postgres, output)
    store(output, [("ann", 1), ("bob", 2)], 0)
    store(output, [("bob", 5), ("cid", None)], 1)
    assert stored(postgres) == [("ann", 1), ("bob", 5), ("cid", None)]


def test_a_batch_that_was_stored_changes_nothing_when_it_is_tried_again(postgres, store):
    output = table()
    create_table(postgres, output)
    store(output, [("ann", 1)], 0)
    store(output, [("ann", 2)], 1)
    store(output, [("ann", 99), ("eve", 99)], 1)
    store(output, [("ann", 98)], 0)
    assert stored(postgres) == [("ann", 2)]


def test_batches_are_counted_by_query(postgres, store):
    output = table()
    create_table(postgres, output)
    store(output, [("ann", 1)], 7, query="totals/old")
    store(output, [("ann", 2)], 0, query="totals/new")
    assert stored(postgres) == [("ann", 2)]


def test_a_batch_that_fails_leaves_nothing_and_can_be_tried_again(postgres, store):
    output = table()
    create_table(postgres, output)
    rows(postgres, "alter table totals add constraint small check (total < 10)")
    with pytest.raises(MillstreamError, match=r"MS855.*'totals'.*small"):
        store(output, [("ann", 1), ("bob", 10)], 0)
    assert stored(postgres) == []
    rows(postgres, "alter table totals drop constraint small")
    store(output, [("ann", 1), ("bob", 10)], 0)
    assert stored(postgres) == [("ann", 1), ("bob", 10)]
    assert rows(postgres, "select tablename from pg_tables where schemaname = 'Shop' order by 1") == [
        ("millstream_batches",),
        ("totals",),
    ]


def test_rows_are_deleted(postgres, store):
    output = table()
    create_table(postgres, output)
    store(output, [("ann", 1, False), ("bob", 2, False), (None, 3, None)], 0, deletes=True)
    assert stored(postgres) == [("ann", 1), ("bob", 2), (None, 3)]
    store(
        output, [("ann", None, True), ("eve", None, True), (None, 1, True), ("bob", 4, None)], 1, deletes=True
    )
    assert stored(postgres) == [("bob", 4)]


def test_a_key_that_is_null_is_one_row(postgres, store):
    output = table(("user_id", "day"), user_id="string", day="date", total="bigint")
    create_table(postgres, output)
    store(output, [("ann", None, 1)], 0)
    store(output, [("ann", None, 2), (None, None, 3)], 1)
    assert stored(postgres) == [("ann", None, 2), (None, None, 3)]


def test_only_rows_that_are_not_older_replace(postgres, store):
    output = table(user_id="string", total="bigint", seen="timestamp", order_by="seen")
    create_table(postgres, output)
    later = NOON.replace(hour=13)
    store(
        output,
        [("older", 1, NOON), ("same", 1, NOON), ("newer", 1, NOON), ("none", 1, NOON), ("first", 1, None)],
        0,
    )
    earlier = NOON.replace(hour=11)
    store(
        output,
        [
            ("older", 2, earlier),
            ("same", 2, NOON),
            ("newer", 2, later),
            ("none", 2, None),
            ("first", 2, NOON),
        ],
        1,
    )
    assert [row[:2] for row in stored(postgres)] == [
        ("first", 2),
        ("newer", 2),
        ("none", 1),
        ("older", 1),
        ("same", 2),
    ]


def test_a_delete_that_is_older_deletes_nothing(postgres, store):
    output = table(user_id="string", total="bigint", order_by="total")
    create_table(postgres, output)
    store(output, [("ann", 5, False), ("bob", 5, False)], 0, deletes=True)
    store(output, [("ann", 4, True), ("bob", 6, True)], 1, deletes=True)
    assert stored(postgres) == [("ann", 5)]


def test_a_table_of_keys_only(postgres, store):
    output = table(("user_id",), user_id="string")
    create_table(postgres, output)
    store(output, [("ann",)], 0)
    store(output, [("ann",), ("bob",)], 1)
    assert stored(postgres) == [("ann",), ("bob",)]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("boolean", True, True),
        ("tinyint", -128, -128),
        ("bigint", 2**63 - 1, 2**63 - 1),
        ("float", 0.10000000149011612, 0.1),
        ("double", 0.1 + 0.2, 0.1 + 0.2),
        ("double", float("-inf"), float("-inf")),
        ("decimal(38,6)", Decimal("12345678901234567890123456789012.123456"), Decimal("12345678901234567890123456789012.123456")),
        ("string", 'a "quoted", text\nof ünïcode \\ \\N', 'a "quoted", text\nof ünïcode \\ \\N'),
        ("string", "", ""),
        ("string", "NULL", "NULL"),
        ("string", None, None),
        ("binary", b"\x00\xff", b"\x00\xff"),
        ("date", date(2024, 2, 29), date(2024, 2, 29)),
        ("date", date(1, 1, 1), date(1, 1, 1)),
        ("timestamp", NOON, NOON),
        ("timestamp_ntz", NOON.replace(tzinfo=None), NOON.replace(tzinfo=None)),
        ("array<string>", ["a", None], ["a", None]),
        ("map<string,int>", {"a": 1}, {"a": 1}),
        ("struct<a:int,at:timestamp>", {"a": None, "at": NOON}, {"a": None, "at": "2024-01-01T12:00:00.123456Z"}),
        ("array<array<int>>", [[1], [2, 3]], [[1], [2, 3]]),
        ("array<int>", None, None),
    ],
)  # fmt: skip
def test_values_come_back_as_they_were(postgres, store, kind, value, expected):
    output = table(("id",), id="bigint", value=kind)
    create_table(postgres, output)
    store(output, [(1, value)])
    assert stored(postgres) == [(1, expected)]


def test_times_are_the_same_in_any_zone_of_the_session(spark, postgres, store):
    output = table(("id",), id="bigint", at="timestamp", plain="timestamp_ntz")
    create_table(postgres, output)
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        store(output, [(1, NOON, NOON.replace(tzinfo=None))])
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert stored(postgres) == [(1, NOON, NOON.replace(tzinfo=None))]


def test_many_partitions_with_empty_ones(spark, postgres):
    output = table(user_id="bigint", total="bigint")
    create_table(postgres, output)
    frame = (
        spark.range(1000)
        .selectExpr("id as user_id", "id * 2 as total")
        .repartition(5)
        .union(spark.range(0).selectExpr("id", "id"))
    )
    merge_batch(frame, output, postgres, TableBatch("q", 0, deletes=False, new=False))
    merge_batch(frame.where("false"), output, postgres, TableBatch("q", 1, deletes=False, new=False))
    assert rows(postgres, "select count(*), sum(total) from totals") == [(1000, 999_000)]


def test_names_can_be_written_without_quotes(postgres, store):
    output = table(("userId",), name="Totals", userId="string", Total="bigint")
    create_table(postgres, output)
    store(output, [("ann", 1)])
    assert rows(postgres, "select userId, Total from Totals") == [("ann", 1)]


def test_new_columns_are_added(postgres, store):
    create_table(postgres, table())
    store(table(), [("ann", 1)], 0)
    more = table(user_id="string", total="bigint", tags="array<string>")
    create_table(postgres, more)
    create_table(postgres, more)
    store(more, [("bob", 2, ["x"])], 1)
    assert stored(postgres) == [("ann", 1, None), ("bob", 2, ["x"])]


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        (
            table(user_id="string", total="double"),
            "MS852",
            "'total'.* bigint in PostgreSQL, but double precision",
        ),
        (table(("user_id", "total")), "MS853", "is user_id in PostgreSQL, but user_id, total in the model"),
        (table(("total",)), "MS853", "is user_id in PostgreSQL, but total"),
        (table(name="totals", user_id="string", total="interval"), "MS851", "'total' of 'totals': interval"),
        (table(user_id="string", **{"x" * 64: "int"}), "MS854", "longer than PostgreSQL's 63 bytes"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_changed(postgres, changed, code, message):
    create_table(postgres, table())
    before = rows(postgres, "select attname, atttypid from pg_attribute where attrelid = 'totals'::regclass")
    with pytest.raises(MillstreamError, match=f"{code}: .*{message}") as caught:
        create_table(postgres, changed)
    assert caught.value.diagnostics[0].help
    assert (
        rows(postgres, "select attname, atttypid from pg_attribute where attrelid = 'totals'::regclass")
        == before
    )


def test_a_key_that_is_never_null_is_primary(postgres):
    columns = (Column("id", BIGINT, nullable=False), Column("name", STRING))
    create_table(postgres, TableOutput(NodeId("model", "totals"), ("id",), columns))
    create_table(postgres, TableOutput(NodeId("model", "totals"), ("id",), columns))
    sql = "select indisprimary from pg_index where indrelid = 'totals'::regclass"
    assert rows(postgres, sql) == [(True,)]
    with pytest.raises(MillstreamError, match=r"MS853: .*can be NULL in the model"):
        create_table(
            postgres,
            TableOutput(NodeId("model", "totals"), ("id",), (Column("id", BIGINT), Column("name", STRING))),
        )


def test_a_table_is_dropped_with_what_is_known_of_its_batches(postgres, store):
    drop_table(postgres, table())
    create_table(postgres, table())
    store(table(), [("ann", 1)], 3)
    drop_table(postgres, table())
    create_table(postgres, table())
    store(table(), [("bob", 1)], 0)
    assert stored(postgres) == [("bob", 1)]


def test_a_text_that_postgresql_can_not_hold(postgres, store):
    create_table(postgres, table())
    with pytest.raises(MillstreamError, match=r"MS855.*0x00"):
        store(table(), [("a\x00b", 1)])


def test_the_password_is_in_no_message(spark, postgres, store, capfd):
    wrong = PostgresSchema(postgres.url, "owner", "wr0ng", "Shop")
    for run in (
        lambda: create_table(wrong, table()),
        lambda: create_table(PostgresSchema("postgresql://127.0.0.1:1/x", "owner", PASSWORD), table()),
        lambda: create_table(
            PostgresSchema(f"postgresql://127.0.0.1:{PASSWORD}/x", "owner", PASSWORD), table()
        ),
    ):
        with pytest.raises(MillstreamError, match="MS846") as caught:
            run()
        assert "wr0ng" not in str(caught.value)
        assert PASSWORD not in str(caught.value)
    assert PASSWORD not in repr(postgres)


def test_a_missing_right_is_told(postgres):
    rows(postgres, "drop role if exists guest")
    rows(postgres, f"create role guest login password '{PASSWORD}'")
    guest = PostgresSchema(postgres.url, "guest", PASSWORD, "Shop")
    with pytest.raises(MillstreamError, match=r"MS856: .*permission denied"):
        create_table(guest, table())
