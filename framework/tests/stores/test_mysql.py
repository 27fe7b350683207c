"""What only MySQL and MariaDB do with batches. The program `mariadb` and DuckDB judge the rows."""

import random
from decimal import Decimal

import duckdb
import pytest
from support.databases import of_mysql
from support.mariadb import client_rows, rows

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.types import BIGINT, STRING, parse_type
from millstream.engine.queries.newest_rows import latest_rows
from millstream.plan.nodes import Column
from millstream.queries.values import TableOutput
from millstream.stores.databases.swap import swap_tables
from millstream.stores.databases.table import create_table
from millstream.stores.spark import TableBatch

KEYS = ["a", "a ", "A", "ä", "", None, "b'\\", 'c"%s', "\t", "x\ud7ff😀"]


def table(keys=("user",), name="totals", **columns):
    columns = columns or {"user": "string", "total": "bigint"}
    options = {"order_by": columns.pop("order_by")} if "order_by" in columns else {}
    typed = tuple(Column(column, parse_type(kind)) for column, kind in columns.items())
    return TableOutput(NodeId("model", name), keys, typed, options)


def merge(spark, mariadb, output, values, number=0, *, deletes=False):
    schema = ", ".join(f"`{column.name}` {column.type}" for column in output.columns)
    frame = spark.createDataFrame(values, schema + (", _deleted boolean" if deletes else ""))
    latest = latest_rows(frame, output.keys, output.options.get("order_by"))
    of_mysql(mariadb).tables.merge(latest, output, TableBatch("q", number, deletes=deletes, new=False))


def test_random_batches_are_what_duckdb_computes_of_the_same_rows(spark, mariadb):
    """Each row has a time of its own. The newest of a key counts, and is gone if it says so."""
    output = table(("user", "part"), user="string", part="int", at="bigint", n="int", order_by="at")
    create_table(mariadb, output)
    chosen, sent = random.Random(7), []
    times = iter(chosen.sample(range(1000), 400))
    for number in range(8):
        batch = [
            (chosen.choice(KEYS), chosen.choice([1, None]), next(times), chosen.randrange(9), False)
            for _ in range(50)
        ]
        sent += batch
        merge(spark, mariadb, output, batch, number, deletes=True)
        merge(spark, mariadb, output, [("again", 1, 10**6, 0, False)], number, deletes=True)
    with duckdb.connect() as judge:
        judge.execute('create table sent ("user" text, part int, moment bigint, n int, gone boolean)')
        judge.executemany("insert into sent values (?, ?, ?, ?, ?)", sent)
        expected = judge.execute("""
            select coalesce(hex(encode("user")), 'NULL'), coalesce(part::text, 'NULL'), moment::text, n::text
            from sent qualify row_number() over (partition by "user", part order by moment desc) = 1
        """).fetchall()
    stored = client_rows(mariadb, "select hex(user), part, at, n from totals")
    assert sorted(stored) == sorted(expected)
    assert len(stored) == 2 * len(KEYS)
    gone = [(user, part, time + 10**6, None, True) for user, part, time, *_ in sent[:20]]
    merge(spark, mariadb, output, gone, 8, deletes=True)
    keys = {(user, part) for user, part, *_ in sent} - {(user, part) for user, part, *_ in gone}
    assert client_rows(mariadb, "select count(*) from totals") == [(str(len(keys)),)]


def test_a_key_that_is_never_null_is_primary(mariadb):
    columns = (Column("id", BIGINT, nullable=False), Column("name", STRING))
    output = TableOutput(NodeId("model", "totals"), ("id",), columns)
    create_table(mariadb, output)
    create_table(mariadb, output)
    (column,) = rows(mariadb, "show columns from totals like 'id'")
    assert column[3] == "PRI"
    with pytest.raises(MillstreamError, match=r"MS853: .*can be NULL in the model"):
        create_table(mariadb, table(("id",), id="bigint"))


def test_texts_of_a_key_have_a_length_that_an_index_can_hold(spark, mariadb):
    output = table(("user", "tags", "raw", "day"), user="string", tags="array<int>", raw="binary", day="date")
    create_table(mariadb, output)
    create_table(mariadb, output)
    merge(spark, mariadb, output, [("ä" * 254, [1], b"\x00", None)])
    with pytest.raises(MillstreamError, match=r"MS855: .*Data too long for column 'user'"):
        merge(spark, mariadb, output, [("a" * 255, [1], b"\x00", None)], 1)
    assert rows(mariadb, "select tags, raw from totals") == [("[1]", b"\x00")]


def test_what_no_number_is_can_not_be_stored(spark, mariadb):
    output = table(user="string", share="double")
    create_table(mariadb, output)
    with pytest.raises(MillstreamError, match=r"MS855: MySQL can't store rows of 'totals': nan"):
        merge(spark, mariadb, output, [("a", float("nan"))])
    assert rows(mariadb, "select * from totals") == []


def test_short_numbers_are_stored_with_all_their_digits(spark, mariadb):
    output = table(user="string", share="float")
    create_table(mariadb, output)
    merge(spark, mariadb, output, [("a", 16777215.0)])
    assert client_rows(mariadb, "select share from totals") == [("16777215",)]


def test_numbers_in_json_keep_their_digits(spark, mariadb):
    output = table(user="string", prices="array<decimal(38,6)>")
    create_table(mariadb, output)
    price = Decimal("12345678901234567890123456789012.123456")
    merge(spark, mariadb, output, [("a", [price])])
    assert client_rows(mariadb, "select prices from totals") == [(f"[{price}]",)]
    (row,) = of_mysql(mariadb).tables.rows(spark, output.model, output.columns).collect()
    assert row["prices"] == [price]


@pytest.mark.parametrize("done", ["nothing", "the rename"])
def test_a_swap_that_was_killed_is_completed(spark, mariadb, monkeypatch, done):
    """Each change of a table ends a transaction, so a kill can come between it and the recorded batches."""
    output, new = table(), table(name="totals.rebuilt", user="string", total="bigint", more="int")
    create_table(mariadb, output)
    merge(spark, mariadb, output, [("a", 1)])
    create_table(mariadb, new)
    merge(spark, mariadb, new, [("a", 2, 3)], 5)
    dialect = type(mariadb.dialect)
    swap = dialect.swap

    def killed(*args, **options):
        if done == "the rename":
            swap(*args, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(dialect, "swap", killed)
    with pytest.raises(KeyboardInterrupt):
        swap_tables(mariadb, new, output)
    monkeypatch.setattr(dialect, "swap", swap)
    for _ in range(2):
        swap_tables(mariadb, new, output)
        assert rows(mariadb, "select * from totals") == [("a", 2, 3)]
        assert rows(mariadb, "select relation, batch from millstream_batches") == [("model.totals", 5)]
        names = rows(mariadb, "show tables")
        assert [name for (name,) in names] == ["millstream_batches", "totals"]
