"""What names of a query mean, for editors."""

import pytest

from millstream.core.node_id import NodeId
from millstream.core.types import BIGINT, DOUBLE, STRING, Field, Row
from millstream.sql.name_map import map_names, names_in_scope, root_of
from millstream.sql.values import InputRelation, RelationColumn

ITEM = Row((Field("sku", STRING), Field("price", DOUBLE)))
ORDERS = InputRelation(
    NodeId("model", "orders"),
    (
        RelationColumn("id", BIGINT, nullable=False),
        RelationColumn("name", STRING),
        RelationColumn("item", ITEM),
    ),
)


def find(parts):
    return ORDERS if parts == ("models", "orders") else None


def roots(sql, text):
    """Return what each column with this text means: a relation's column, or where the SQL declares it."""
    names = map_names(sql, find, {})
    by_start = names.by_start()
    return [
        f"{node}.{column}" if node else sql[slice(*span)] if span else ""
        for name in names.names
        if name.kind == "column" and sql[name.start : name.stop] == text
        for node, column, span in [root_of(by_start, name)]
    ]


@pytest.mark.parametrize(
    ("sql", "text", "expected"),
    [
        ("select id from models.orders", "id", ["model.orders.id"]),
        ("select o.id from models.orders as o", "id", ["model.orders.id"]),
        ("select id as a from models.orders order by a", "a", ["a", "a"]),
        ("with c as (select id from models.orders) select c.id from c", "id", ["model.orders.id"] * 2),
        ("with c as (select id as n from models.orders) select n from c", "n", ["n", "n"]),
        ("with c as (select * from models.orders) select id from c where id > 1", "id", ["model.orders.id"] * 2),
        ("select s.id from (select id from models.orders) as s", "id", ["model.orders.id"] * 2),
        ("select n from (select id from models.orders) as s(n)", "n", ["model.orders.id"]),
        ("select id from models.orders union all select id from models.orders", "id", ["model.orders.id"] * 2),
        ("select `id` from models.orders", "`id`", ["model.orders.id"]),
        ("select count(*) as n from models.orders group by name having n > 1", "n", ["n", "n"]),
        ("select (select max(id) from models.orders as i where i.id = o.id) as m from models.orders as o", "id",
         ["model.orders.id"] * 3),
        ("select nothing from models.orders where id = 1", "id", ["model.orders.id"]),
        ("selec id", "id", []),
    ],
)  # fmt: skip
def test_columns_mean_the_ones_that_they_pass_on(sql, text, expected):
    assert roots(sql, text) == expected


def test_what_a_star_passes_on():
    sql = "with c as (select *, 1 as one from models.orders) select * from c"
    origins = {name: (str(node), column) for name, (node, column) in map_names(sql, find, {}).passed.items()}
    assert origins == {name: ("model.orders", name) for name in ("id", "name", "item")}


def test_types_and_nulls_are_those_at_the_place():
    names = map_names("select b.id from models.orders a left join models.orders b on a.id = b.id", find, {})
    columns = [(str(name.type), name.nullable) for name in names.names if name.kind == "column"]
    assert columns == [("bigint", True), ("bigint", False), ("bigint", True)]


@pytest.mark.parametrize(
    ("sql", "columns", "relations"),
    [
        ("select x from models.orders as o", ["id", "name", "item"], ("o",)),
        ("with c as (select id as n from models.orders) select c.x from c", ["n"], ("c",)),
        ("select id from models.orders where x", ["id", "name", "item"], ("orders",)),
        ("select 1 as one, x from models.orders", ["id", "name", "item"], ("orders",)),
    ],
)
def test_names_in_scope(sql, columns, relations):
    position = sql.index("c.x") if "c.x" in sql else sql.index("x")
    scope = names_in_scope(sql, position, find, {})
    assert [column.name for column in scope.columns] == columns
    assert scope.relations == relations
    assert scope.aliases == (("one",) if "one" in sql else ())
