"""Tables that PostgreSQL can't hold, or that differ from those that it has: what the remedy says works."""

import pytest
from support.postgres import PASSWORD, rows

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.plan.nodes import Column
from millstream.queries.values import TableOutput
from millstream.stores.postgres.schema import PostgresSchema
from millstream.stores.postgres.table import create_table, drop_table


def table(*keys, **columns):
    typed = tuple(Column(name, parse_type(kind)) for name, kind in columns.items())
    return TableOutput(NodeId("model", "totals"), keys, typed)


TOTALS = table("user", user="string", total="bigint")
REBUILD = "rebuild it: millstream build --full-refresh --select totals (this first removes what is stored)"


def refused(schema, output):
    with pytest.raises(MillstreamError) as caught:
        create_table(schema, output)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.help


@pytest.mark.parametrize(
    ("wrong", "code", "remedy", "right"),
    [
        (
            table("user", user="string", wait="interval"),
            "MS851",
            "cast it in the model, for example cast(wait as string)",
            table("user", user="string", wait="string"),
        ),
        (
            table("user", user="string", **{"x" * 64: "int"}),
            "MS854",
            "shorten it",
            table("user", user="string", **{"x" * 63: "int"}),
        ),
    ],
)
def test_a_table_that_postgres_can_not_hold(postgres, wrong, code, remedy, right):
    assert refused(postgres, wrong) == (code, remedy)
    create_table(postgres, right)


@pytest.mark.parametrize(
    ("output", "code"),
    [
        (table("user", user="string", total="double"), "MS852"),
        (table("user", "total", user="string", total="bigint"), "MS853"),
    ],
)
def test_a_table_of_another_shape_is_built_again(postgres, output, code):
    create_table(postgres, TOTALS)
    refused_with, remedy = refused(postgres, output)
    assert (refused_with, remedy) == (code, REBUILD)
    drop_table(postgres, output)  # as a full refresh does
    create_table(postgres, output)


def test_a_user_that_may_not_create_tables(postgres):
    rows(postgres, "drop role if exists builder")
    rows(postgres, f"create role builder login password '{PASSWORD}'")
    builder = PostgresSchema(postgres.url, "builder", PASSWORD, "Shop")
    code, remedy = refused(builder, TOTALS)
    assert (code, remedy) == (
        "MS856",
        "let the user create tables in schema 'Shop', or use another schema",
    )
    rows(postgres, 'create schema "Shop"')
    rows(postgres, 'grant usage, create on schema "Shop" to builder')
    create_table(builder, TOTALS)
    rows(postgres, 'drop schema "Shop" cascade')
    rows(postgres, "drop role builder")
