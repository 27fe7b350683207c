"""Python functions in SQL that Spark runs as it is written: refused where they are called, with remedies that work."""

import pytest
from support.runs import built, statuses, table_rows
from support.shops import UNOPTIMIZED
from support.spark import SPARK_WARNINGS
from support.sql_plans import project

from millstream.compile import compile_project

FUNCTIONS = """
from dataclasses import dataclass
from typing import Iterator

@dataclass
class Part:
    word: str

def parts(kind: str | None) -> Iterator[Part]:
    for word in (kind or "").split():
        yield Part(word)

def list_of_parts(kind: str | None) -> list[Part]:
    return [Part(word) for word in (kind or "").split()]

def shout(kind: str | None) -> str:
    return (kind or "").upper()
"""
OPAQUE = "{events} as e join (values ('x')) as v(t) on v.t = e.{kind}"
IN_OPAQUE = {
    "shout": "select shout(e.{kind}) as s from " + OPAQUE,
    "shout in ON": "select e.{kind} from {events} as e join (values ('X')) as v(t) on v.t = shout(e.{kind})",
    "parts by LATERAL": "select t.word from " + OPAQUE + ", lateral parts(e.{kind}) as t",
    "parts by LATERAL VIEW": "select t.word from " + OPAQUE + " lateral view parts(e.{kind}) t as word",
    "parts in a LATERAL subquery": "select s.word from {events} as e, lateral (select t.word from parts(e.{kind}) as t) as s",
}
PART = "select e.{kind} from " + OPAQUE
OF_PART = {
    "shout": "select shout(kind) as s from {part}",
    "parts": "select t.word from {part} as e, lateral parts(e.kind) as t",
}
TABLE, FULL = (
    f"{{{{ config(materialized='table', unique_key='id'{more}) }}}} " for more in ("", ", refresh='full'")
)
OVER_TABLES = {
    "parts by LATERAL": "select o.id, t.word from {orders} as o, lateral parts(o.kind) as t",
    "parts by LATERAL VIEW": "select o.id, t.word from {orders} as o lateral view parts(o.kind) t as word",
    "parts in opaque SQL": "select o.id, t.word from {orders} as o join (values ('x')) as v(t) on v.t = o.kind, lateral parts(o.kind) as t",
}
INLINE_LIST = "select o.id, t.word from {orders} as o lateral view inline(list_of_parts(o.kind)) t as word"
SCALARS = "select o.id, shout(o.kind) as word from {orders} as o join (values ('x')) as v(t) on v.t = o.kind"
ORDERS = "{{ ref('orders') }}"


@pytest.mark.parametrize("name", IN_OPAQUE)
def test_python_in_opaque_sql_is_refused_where_it_is_called(tmp_path, name):
    positions = {"events": "{{ source('shop', 'events') }}", "kind": "type"}
    root = project(tmp_path, {"m": IN_OPAQUE[name].format(**positions)})
    (root / "macros/parts.py").write_text(FUNCTIONS)
    function = name.partition(" ")[0]
    (diagnostic,) = compile_project(root).diagnostics
    location = diagnostic.location
    assert (diagnostic.code, location.path, location.line) == ("MS698", "models/m.sql", 1)
    text = (root / "models/m.sql").read_text()
    assert text[location.column - 1 :].startswith(f"{function}(")
    assert diagnostic.help.startswith(f"move the opaque part to a separate model, and call {function}() here")
    (root / "models/part.sql").write_text(PART.format(**positions).replace("e.type", "e.type as kind", 1))
    (root / "models/m.sql").write_text(OF_PART[function].format(part="{{ ref('part') }}"))
    assert compile_project(root).diagnostics == ()


@pytest.mark.parametrize("name", OVER_TABLES)
def test_functions_that_return_rows_are_refused_in_tables_over_tables(tmp_path, name):
    orders = (
        TABLE.replace("'id'", "'user_id'")
        + "select user_id as id, type as kind, user_id from {{ source('shop', 'events') }}"
    )
    for config in (TABLE, FULL):
        root = project(tmp_path, {"orders": orders, "m": config + OVER_TABLES[name].format(orders=ORDERS)})
        (root / "macros/parts.py").write_text(FUNCTIONS)
        (diagnostic,) = compile_project(root).diagnostics
        assert (diagnostic.code, diagnostic.location.path) == ("MS698", "models/m.sql")
        assert "lateral view inline(parts(…))" in diagnostic.help
        assert ("refresh='full'" in diagnostic.help) == (config == TABLE)
    for sql in (INLINE_LIST, SCALARS):
        (root / "models/m.sql").write_text(FULL + sql.format(orders=ORDERS))
        assert compile_project(root).diagnostics == ()


@SPARK_WARNINGS
@pytest.mark.long
def test_the_remedies_run(shop, first_spark):
    events = "{{ source('web', 'events') }}"
    shop.write("profiles.yml", UNOPTIMIZED)
    shop.write("macros/parts.py", FUNCTIONS)
    shop.model("orders", f"{TABLE} select id, kind from {events}")
    shop.model("part", PART.format(events=events, kind="kind").replace("select ", "select e.id, "))
    shop.model("shouted", f"{TABLE} select id, shout(kind) as word from {{{{ ref('part') }}}}")
    shop.model(
        "split", f"{TABLE} select e.id, t.word from {{{{ ref('part') }}}} as e, lateral parts(e.kind) as t"
    )
    shop.model("listed", FULL + INLINE_LIST.format(orders=ORDERS))
    shop.model("scalars", FULL + SCALARS.format(orders=ORDERS))
    shop.send(("a", {"id": 1, "kind": "x", "value": 1.0, "at": "2026-01-01T00:00:00Z"}))
    assert {*statuses(built(shop.root, first_spark)[0]).values()} == {"success"}
    words = {
        name: table_rows(shop.root, f"model.{name}") for name in ("shouted", "split", "listed", "scalars")
    }
    assert {name: [(row["id"], row["word"]) for row in rows] for name, rows in words.items()} == {
        "shouted": [(1, "X")], "split": [(1, "x")], "listed": [(1, "x")], "scalars": [(1, "X")],
    }  # fmt: skip
