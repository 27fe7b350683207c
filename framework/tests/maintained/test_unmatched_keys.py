"""Keys that come from the side of an outer join that can be missing: refused, unless something leaves out or names the unmatched rows."""

from __future__ import annotations

import re

import duckdb
import pytest
from support.sql_plans import project

from millstream.compile import compile_project

TABLES = {
    "orders": ("id", "customer", "amount"),
    "customers": ("id", "name", "region"),
    "regions": ("id", "title"),
}
ROWS = """
create table orders as select * from (values ('o1', 'c1', 1), ('o2', 'x', 2), ('o3', 'y', 3), ('o4', null, 4)) as t(id, customer, amount);
create table customers as select * from (values ('c1', 'ann', 'r1'), ('c2', 'bob', 'q'), ('c3', 'cy', null)) as t(id, name, region);
create table regions as select * from (values ('r1', 'north')) as t(id, title);
"""
JOIN = "from orders as o left join customers as c on c.id = o.customer"
SHARED = {
    "left join": ("k", f"select c.id as k, o.amount {JOIN}"),
    "right join": ("k", "select c.id as k, o.amount from customers as c right join orders as o on c.id = o.customer"),
    "full join": ("k", "select c.id as k, o.amount from customers as c full join orders as o on c.id = o.customer"),
    "two joins": ("k", f"select r.id as k, o.amount {JOIN} left join regions as r on r.id = c.region"),
    "expression": ("k", f"select upper(c.name) as k, o.amount {JOIN}"),
    "coalesced to a constant": ("k", f"select coalesce(c.id, 'none') as k, o.amount {JOIN}"),
    "two columns": ("k, n", f"select c.id as k, c.name as n, o.amount {JOIN}"),
    "two missing relations": ("k, n", f"select c.id as k, r.id as n, o.amount {JOIN} left join regions as r on r.id = c.region"),
    "CTE": ("k", f"with j as (select c.id as cid, o.amount {JOIN}) select cid as k, amount from j"),
    "subquery of a subquery": ("k", f"select s.k, s.amount from (select t.k, t.amount from (select c.id as k, o.amount {JOIN}) as t where t.amount > 0) as s"),
    "branch of a union": ("k", f"select concat('r', r.id) as k, 1 as amount from regions as r union all select c.id as k, o.amount {JOIN}"),
    "condition on the other side": ("k", f"select c.id as k, o.amount {JOIN} where o.amount > 0"),
}  # fmt: skip
RIGHT = {
    "other side": ("k", f"select o.id as k, c.name {JOIN}"),
    "both sides": ("k, o", f"select c.id as k, o.id as o, o.amount {JOIN}"),
    "coalesced to the other side": ("k", f"select coalesce(c.id, o.id) as k, o.amount {JOIN}"),
    "not null": ("k", f"select c.id as k, o.amount {JOIN} where c.id is not null"),
    "not null in a CTE": ("k", f"with j as (select c.id as k, o.amount {JOIN}) select k, amount from j where k is not null"),
    "inner join": ("k", "select c.id as k, o.amount from orders as o join customers as c on c.id = o.customer"),
    "groups": ("k", f"select c.id as k, sum(o.amount) as amount {JOIN} group by c.id"),
    "groups above": ("k", f"select j.k, j.amount from (select c.id as k, sum(o.amount) as amount {JOIN} group by c.id) as j"),
    "distinct": ("k", f"select distinct c.id as k {JOIN}"),
    "first row of each": ("k", f"select k, amount from (select c.id as k, o.amount, row_number() over (partition by c.id order by o.amount, o.id) as n {JOIN}) as t where n = 1"),
    "inner join above": ("k", "select c.id as k, r.title from orders as o left join customers as c on c.id = o.customer join regions as r on r.id = c.region"),
    "semi join": ("k", f"select c.id as k, o.amount {JOIN} left semi join regions as r on r.id = c.region"),
}  # fmt: skip
REMEDY = (
    "leave these rows out with an inner join, or in WHERE (c.… is not null); or add the key of o to unique_key; "
    "or set k to that key in these rows: coalesce(k, o.…)"
)


def written(folder, queries):
    stored = "{{{{ config(materialized='table', unique_key='id') }}}}\nselect {} from {{{{ source('shop', 'events') }}}}"
    columns = {name: ", ".join(f"user_id as {column}" for column in names) for name, names in TABLES.items()}
    models = {name: stored.format(columns[name]) for name in TABLES}
    for number, (keys, sql) in enumerate(queries):
        text = re.sub(r"\b(from|join) (orders|customers|regions)\b", r"\1 {{ ref('\2') }}", sql)
        config = f"config(materialized='table', unique_key={keys.split(', ')}, refresh='full')"
        models[f"m{number}"] = f"{{{{ {config} }}}}\n{text}"
    return project(folder, models)


def refused(root):
    diagnostics = compile_project(root, use_cache=False).diagnostics
    assert {diagnostic.code for diagnostic in diagnostics} <= {"MS518"}, diagnostics
    return {int(diagnostic.location.path[8:-4]): diagnostic for diagnostic in diagnostics}


def repeated(keys, sql):
    """Return whether several rows have one key."""
    tables = duckdb.connect()
    tables.execute(ROWS)
    sql = sql.replace("left semi join", "semi join")
    return bool(tables.execute(f"select 1 from ({sql}) group by {keys} having count(*) > 1").fetchall())


def test_keys_that_unmatched_rows_share_are_refused(tmp_path):
    assert all(repeated(*query) for query in SHARED.values())
    diagnostics = refused(written(tmp_path, SHARED.values()))
    assert [name for index, name in enumerate(SHARED) if index not in diagnostics] == []
    assert diagnostics[0].message == (
        "unique_key k does not identify these rows: it is the same for all rows of o without a match in c"
    )
    assert diagnostics[0].help == REMEDY
    assert "unique_key" in diagnostics[0].line


def test_keys_that_identify_rows_and_remedies_are_not_refused(tmp_path):
    assert not any(repeated(*query) for query in RIGHT.values())
    diagnostics = refused(written(tmp_path, RIGHT.values()))
    assert [name for index, name in enumerate(RIGHT) if index in diagnostics] == []


def test_a_test_that_leaves_out_rows_without_a_key_is_enough(tmp_path):
    root = written(tmp_path, [SHARED["left join"]])
    assert refused(root)
    test = "models: [{name: m0, columns: [{name: k, tests: [{not_null: {severity: drop}}]}]}]\n"
    (root / "models/m0.yml").write_text(test)
    assert not refused(root)


@pytest.mark.parametrize("name", ["left join", "two columns"])
def test_tables_by_touched_keys_are_refused_too(tmp_path, name):
    root = written(tmp_path, [SHARED[name]])
    path = root / "models/m0.sql"
    path.write_text(path.read_text().replace(", refresh='full'", ""))
    assert refused(root)
