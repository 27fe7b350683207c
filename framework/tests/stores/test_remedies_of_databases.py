"""Tables that a database can't hold, or that differ from those that it has: what the remedy says works."""

import sys

import pytest

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.plan.nodes import Column
from millstream.queries.values import TableOutput
from millstream.stores.databases.table import create_table, drop_table


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
            table("user", user="string", **{"x" * 65: "int"}),
            "MS854",
            "shorten it",
            table("user", user="string", **{"x" * 63: "int"}),
        ),
    ],
)
def test_a_table_that_a_database_can_not_hold(database, wrong, code, remedy, right):
    assert refused(database.schema, wrong) == (code, remedy)
    create_table(database.schema, right)


@pytest.mark.parametrize(
    ("output", "code"),
    [
        (table("user", user="string", total="double"), "MS852"),
        (table("user", "total", user="string", total="bigint"), "MS853"),
    ],
)
def test_a_table_of_another_shape_is_built_again(database, output, code):
    create_table(database.schema, TOTALS)
    refused_with, remedy = refused(database.schema, output)
    assert (refused_with, remedy) == (code, REBUILD)
    drop_table(database.schema, output)  # as a full refresh does
    create_table(database.schema, output)


def test_a_user_that_may_not_create_tables(database):
    guest = database.guest()
    code, remedy = refused(guest, TOTALS)
    assert (code, remedy) == ("MS856", "let the user create tables in schema 'Shop', or use another schema")
    database.allow_guest()
    create_table(guest, TOTALS)


def test_a_library_that_is_not_installed(mariadb, monkeypatch):
    with monkeypatch.context() as patched:
        for name in [name for name in sys.modules if name.startswith(("pymysql", "millstream.stores.mysql"))]:
            patched.delitem(sys.modules, name)
        patched.setitem(sys.modules, "pymysql", None)
        assert refused(mariadb, TOTALS) == ("MS627", "install it: pip install 'millstream[mysql]'")
    create_table(mariadb, TOTALS)
