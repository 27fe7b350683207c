"""A window function over rows whose order is not unique is reported, and no other one."""

from support.sql_plans import project

from millstream.compile import compile_project

EVENTS = "{{ source('shop', 'events') }}"
TABLE = "{{ config(materialized='table', unique_key='id') }} "
ORDERS = "{{ ref('orders') }}"
FIRST = "qualify row_number() over (partition by user_id order by {}) = 1"
MODELS = {
    "key_in_order": f"select id, user_id from {ORDERS} {FIRST.format('at, id')}",
    "key_in_partition": f"select id from {ORDERS} qualify row_number() over (partition by id order by at) = 1",
    "key_through_a_cte": f"with x as (select id, user_id, at from {ORDERS}) select id from x {FIRST.format('at, x.id')}",
    "ranks": f"select id, rank() over (partition by user_id order by at) as r from {ORDERS}",
    "totals": f"select id, sum(amount) over (partition by user_id order by at) as r from {ORDERS}",
    "groups": f"select user_id as id, row_number() over (partition by amount order by user_id) as n from {ORDERS} group by user_id, amount",
    "groups_of_a_subquery": f"select id, row_number() over (order by id) as n from (select user_id as id, sum(amount) as s from {ORDERS} group by user_id)",
    "looked_up": f"select o.id, row_number() over (partition by o.user_id order by o.at, o.id) as r from {ORDERS} as o join {ORDERS} as u on u.id = o.id",
    "tied": f"select id, user_id from {ORDERS} {FIRST.format('at desc')}",
    "tied_shift": f"select id, lag(amount) over (partition by user_id order by at) as r from {ORDERS}",
    "tied_frame": f"select id, sum(amount) over (partition by user_id order by at rows 1 preceding) as r from {ORDERS}",
    "tied_below": f"with x as (select *, row_number() over (partition by user_id order by at) as n from {ORDERS}) select id from x where n = 1",
    "tied_groups": f"select user_id as id, row_number() over (partition by amount order by count(*)) as n from {ORDERS} group by user_id, amount",
    "tied_join": f"select o.id, row_number() over (partition by o.user_id order by o.id) as r from {ORDERS} as o join {ORDERS} as u on u.user_id = o.user_id",
}


def test_an_order_that_is_not_unique_is_reported_with_the_key_that_is_missing(tmp_path):
    orders = TABLE + f"select value as id, user_id, amount, at from {EVENTS}"
    full = TABLE.replace("unique_key", "refresh='full', unique_key")
    models = {
        name: (full if "over (order" in sql or "group" in name else TABLE) + sql
        for name, sql in MODELS.items()
    }
    diagnostics = compile_project(
        project(tmp_path, {"orders": orders, **models}), use_cache=False
    ).diagnostics
    assert {(d.code, d.severity) for d in diagnostics} == {("MS549", "warning")}
    assert {d.location.path[len("models/") : -len(".sql")]: d.help for d in diagnostics} == {
        "tied": "add id to the end of ORDER BY",
        "tied_shift": "add id to the end of ORDER BY",
        "tied_frame": "add id to the end of ORDER BY",
        "tied_below": "add id to the end of ORDER BY",
        "tied_groups": "add user_id to the end of ORDER BY",
        "tied_join": "add u.id to the end of ORDER BY",
    }
