"""What only PostgreSQL does with batches."""

import pytest
from support.databases import of_postgres
from support.postgres import rows

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.types import BIGINT, DOUBLE, FLOAT, STRING
from millstream.plan.nodes import Column
from millstream.queries.values import TableOutput
from millstream.stores.databases.table import create_table
from millstream.stores.spark import TableBatch


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


def test_a_text_that_postgresql_can_not_hold(spark, postgres):
    columns = (Column("user_id", STRING), Column("total", BIGINT))
    table = TableOutput(NodeId("model", "totals"), ("user_id",), columns)
    create_table(postgres, table)
    frame = spark.createDataFrame([("a\x00b", 1)], "user_id string, total bigint")
    with pytest.raises(MillstreamError, match=r"MS855.*0x00"):
        of_postgres(postgres).tables.merge(frame, table, TableBatch("q", 0, deletes=False, new=False))


def test_numbers_that_are_none_and_short_ones(spark, postgres):
    columns = (Column("id", BIGINT), Column("share", DOUBLE), Column("short", FLOAT))
    table = TableOutput(NodeId("model", "totals"), ("id",), columns)
    create_table(postgres, table)
    frame = spark.createDataFrame([(1, float("-inf"), 0.1)], "id bigint, share double, short float")
    of_postgres(postgres).tables.merge(frame, table, TableBatch("q", 0, deletes=False, new=False))
    assert rows(postgres, "select share, short from totals") == [(float("-inf"), 0.1)]
