"""Batches stored in a real PostgreSQL and a real MariaDB."""

import re
from datetime import date, datetime, timezone
from decimal import Decimal

import pytest
from msgspec.structs import replace
from support.postgres import PASSWORD

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.plan.nodes import Column
from millstream.project.secrets import Secret
from millstream.queries.values import TableOutput
from millstream.stores.databases.table import create_table, drop_table
from millstream.stores.spark import TableBatch
from millstream.stores.tables.relations import StoredRelation

NOON = datetime(2024, 1, 1, 12, 0, 0, 123456, tzinfo=timezone.utc)


def table(keys=("user_id",), *, name="totals", **columns):
    columns = columns or {"user_id": "string", "total": "bigint"}
    options = {"order_by": columns.pop("order_by")} if "order_by" in columns else {}
    typed = tuple(Column(name, parse_type(kind)) for name, kind in columns.items())
    return TableOutput(NodeId("model", name), keys, typed, options)


@pytest.fixture
def store(spark, database):
    """Return a function that stores rows as a batch."""

    def call(output, values, batch=0, *, deletes=False, query="totals/1"):
        columns = [f"`{column.name}` {column.type}" for column in output.columns]
        frame = spark.createDataFrame(
            values, ", ".join([*columns, *(["_deleted boolean"] if deletes else [])])
        )
        database.tables.merge(frame, output, TableBatch(query, batch, deletes=deletes, new=False))

    return call


def stored(database, output):
    """Return the rows of a table as `query` does, which knows the types of its model."""
    relation = StoredRelation(
        output.model, "totals", "table", tuple((column.name, str(column.type)) for column in output.columns)
    )
    answer = database.local.answer("select * from totals", {"totals": relation}, zone="UTC", limit=None)
    return sorted(answer.rows, key=lambda row: (row[0] is None, row[0]))


def test_new_rows_are_inserted_and_known_ones_replaced(database, store):
    output = table()
    create_table(database.schema, output)
    store(output, [("ann", 1), ("bob", 2)], 0)
    store(output, [("bob", 5), ("cid", None)], 1)
    assert stored(database, output) == [("ann", 1), ("bob", 5), ("cid", None)]


def test_a_batch_that_was_stored_changes_nothing_when_it_is_tried_again(database, store):
    output = table()
    create_table(database.schema, output)
    store(output, [("ann", 1)], 0)
    store(output, [("ann", 2)], 1)
    store(output, [("ann", 99), ("eve", 99)], 1)
    store(output, [("ann", 98)], 0)
    assert stored(database, output) == [("ann", 2)]


def test_batches_are_counted_by_query(database, store):
    output = table()
    create_table(database.schema, output)
    store(output, [("ann", 1)], 7, query="totals/old")
    store(output, [("ann", 2)], 0, query="totals/new")
    assert stored(database, output) == [("ann", 2)]


def test_rows_are_deleted(database, store):
    output = table()
    create_table(database.schema, output)
    store(output, [("ann", 1, False), ("bob", 2, False), (None, 3, None)], 0, deletes=True)
    assert stored(database, output) == [("ann", 1), ("bob", 2), (None, 3)]
    store(
        output, [("ann", None, True), ("eve", None, True), (None, 1, True), ("bob", 4, None)], 1, deletes=True
    )
    assert stored(database, output) == [("bob", 4)]


def test_a_key_that_is_null_is_one_row(database, store):
    output = table(("user_id", "day"), user_id="string", day="date", total="bigint")
    create_table(database.schema, output)
    store(output, [("ann", None, 1)], 0)
    store(output, [("ann", None, 2), (None, None, 3)], 1)
    assert stored(database, output) == [("ann", None, 2), (None, None, 3)]


def test_only_rows_that_are_not_older_replace(database, store):
    output = table(user_id="string", total="bigint", seen="timestamp", order_by="seen")
    create_table(database.schema, output)
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
    assert [row[:2] for row in stored(database, output)] == [
        ("first", 2),
        ("newer", 2),
        ("none", 1),
        ("older", 1),
        ("same", 2),
    ]


def test_a_delete_that_is_older_deletes_nothing(database, store):
    output = table(user_id="string", total="bigint", order_by="total")
    create_table(database.schema, output)
    store(output, [("ann", 5, False), ("bob", 5, False)], 0, deletes=True)
    store(output, [("ann", 4, True), ("bob", 6, True)], 1, deletes=True)
    assert stored(database, output) == [("ann", 5)]


def test_a_table_of_keys_only(database, store):
    output = table(("user_id",), user_id="string")
    create_table(database.schema, output)
    store(output, [("ann",)], 0)
    store(output, [("ann",), ("bob",)], 1)
    assert stored(database, output) == [("ann",), ("bob",)]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("boolean", True, True),
        ("tinyint", -128, -128),
        ("bigint", 2**63 - 1, 2**63 - 1),
        ("float", 0.125, 0.125),
        ("double", 0.1 + 0.2, 0.1 + 0.2),
        ("double", -5e-324, -5e-324),
        ("decimal(38,6)", Decimal("12345678901234567890123456789012.123456"), Decimal("12345678901234567890123456789012.123456")),
        ("string", 'a "quoted", text\nof ünïcode \\ \\N', 'a "quoted", text\nof ünïcode \\ \\N'),
        ("decimal(30,30)", Decimal("0.000000000000000000000000000012"), Decimal("0.000000000000000000000000000012")),
        ("string", "", ""),
        ("string", "NULL", "NULL"),
        ("string", None, None),
        ("binary", b"\x00\xff", b"\x00\xff"),
        ("date", date(2024, 2, 29), date(2024, 2, 29)),
        ("date", date(1, 1, 1), date(1, 1, 1)),
        ("timestamp", NOON, NOON),
        ("timestamp", NOON.replace(year=1), NOON.replace(year=1)),
        ("timestamp_ntz", NOON.replace(tzinfo=None), NOON.replace(tzinfo=None)),
        ("timestamp_ntz", NOON.replace(month=3, day=31, hour=2, tzinfo=None), NOON.replace(month=3, day=31, hour=2, tzinfo=None)),
        ("boolean", False, False),
        ("int", -1, -1),
        ("smallint", 300, 300),
        ("array<string>", ["a", None], ["a", None]),
        ("map<string,int>", {"a": 1}, {"a": 1}),
        ("struct<a:int,at:timestamp>", {"a": None, "at": NOON}, {"a": None, "at": "2024-01-01T12:00:00.123456Z"}),
        ("array<array<int>>", [[1], [2, 3]], [[1], [2, 3]]),
        ("array<int>", None, None),
    ],
)  # fmt: skip
def test_values_come_back_as_they_were(spark, database, store, kind, value, expected):
    output = table(("id",), id="bigint", value=kind)
    create_table(database.schema, output)
    store(output, [(1, value)])
    assert stored(database, output) == [(1, expected)]
    sent = spark.createDataFrame([(1, value)], f"id bigint, value {kind}")
    read = database.tables.rows(spark, output.model, output.columns)
    assert read.schema["value"].dataType == sent.schema["value"].dataType
    texts = [frame.selectExpr("cast(value as string)").collect() for frame in (read, sent)]
    assert texts[0] == texts[1]


def test_times_are_the_same_in_any_zone_of_the_session(spark, database, store):
    output = table(("id",), id="bigint", at="timestamp", plain="timestamp_ntz")
    create_table(database.schema, output)
    spark.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    try:
        store(output, [(1, NOON, NOON.replace(tzinfo=None))])
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert stored(database, output) == [(1, NOON, NOON.replace(tzinfo=None))]


def test_many_partitions_with_empty_ones(spark, database):
    output = table(user_id="bigint", total="bigint")
    create_table(database.schema, output)
    frame = (
        spark.range(1000)
        .selectExpr("id as user_id", "id * 2 as total")
        .repartition(5)
        .union(spark.range(0).selectExpr("id", "id"))
    )
    database.tables.merge(frame, output, TableBatch("q", 0, deletes=False, new=False))
    database.tables.merge(frame.where("false"), output, TableBatch("q", 1, deletes=False, new=False))
    assert database.rows("select count(*), sum(total) from totals") == [(1000, 999_000)]


def test_names_can_be_written_without_quotes(database, store):
    output = table(("userId",), name="Totals", userId="string", Total="bigint")
    create_table(database.schema, output)
    store(output, [("ann", 1)])
    assert database.rows("select userId, Total from totals") == [("ann", 1)]


def test_new_columns_are_added(database, store):
    create_table(database.schema, table())
    store(table(), [("ann", 1)], 0)
    more = table(user_id="string", total="bigint", tags="array<string>")
    create_table(database.schema, more)
    create_table(database.schema, more)
    store(more, [("bob", 2, ["x"])], 1)
    assert stored(database, more) == [("ann", 1, None), ("bob", 2, ["x"])]


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        (table(user_id="string", total="double"), "MS852", "'total'.* bigint in {0}, but double"),
        (table(("user_id", "total")), "MS853", "is user_id in {0}, but user_id, total in the model"),
        (table(("total",)), "MS853", "is user_id in {0}, but total"),
        (table(name="totals", user_id="string", total="interval"), "MS851", "'total' of 'totals': interval"),
        (table(user_id="string", **{"x" * 65: "int"}), "MS854", "longer than {0}'s 6"),
    ],
)
def test_what_does_not_fit_is_refused_and_nothing_changed(database, changed, code, message):
    create_table(database.schema, table())
    columns = (
        "select column_name, data_type from information_schema.columns where table_name = 'totals' order by 1"
    )
    before = database.rows(columns)
    with pytest.raises(MillstreamError, match=f"{code}: .*{message.format(database.title)}") as caught:
        create_table(database.schema, changed)
    assert caught.value.diagnostics[0].help
    assert database.rows(columns) == before


def test_a_table_is_dropped_with_what_is_known_of_its_batches(database, store):
    drop_table(database.schema, table())
    create_table(database.schema, table())
    store(table(), [("ann", 1)], 3)
    drop_table(database.schema, table())
    create_table(database.schema, table())
    store(table(), [("bob", 1)], 0)
    assert stored(database, table()) == [("bob", 1)]


def test_the_password_is_in_no_message(database):
    for wrong in (
        replace(database.schema, password=Secret("wr0ng")),
        replace(database.schema, url=re.sub(r":\d+/", ":1/", database.schema.url)),
        replace(database.schema, url=re.sub(r":\d+/", f":{PASSWORD}/", database.schema.url)),
    ):
        with pytest.raises(MillstreamError, match="MS846") as caught:
            create_table(wrong, table())
        assert caught.value.diagnostics[0].help
        assert "wr0ng" not in str(caught.value)
        assert PASSWORD not in str(caught.value)
    assert PASSWORD not in repr(database.schema)
