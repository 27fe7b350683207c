"""Tables over tables whose SQL gives other rows as time passes, or by chance: refused, unless they are computed again."""

import pytest
from support.runs import job_of
from support.written import project

from millstream.compile import compile_project
from millstream.runner.queries.service import service_of

ORDERS = "{{ config(materialized='table', unique_key='user_id') }} select user_id, amount, type, at from {{ source('shop', 'events') }}"
ORDER, USER, SEED = "{{ ref('orders') }}", "{{ source('shop', 'users') }}", "{{ ref('products') }}"
KEY = "user_id"
FULL = ", refresh='full', every='1 minute'"
REMEDY = "set config(refresh='full', every='1 minute'), or compute"
POSITIONS = {
    "where": f"select user_id, type from {ORDER} where at > now() - interval 1 day",
    "the list": f"select user_id, current_date() as today from {ORDER}",
    "a nested call": f"select user_id, datediff(current_date(), to_date(at)) as days from {ORDER}",
    "without parentheses": f"select user_id, current_timestamp as seen from {ORDER}",
    "chance": f"select user_id, rand() as r from {ORDER}",
    "chance in a condition": f"select user_id from {ORDER} where random() < 0.5",
    "an identifier": f"select user_id, uuid() as u from {ORDER}",
    "CASE": f"select user_id, case when at > localtimestamp() then 1 else 0 end as late from {ORDER}",
    "seconds": f"select user_id, unix_timestamp() as s from {ORDER}",
    "a CTE": f"with recent as (select * from {ORDER} where at > now() - interval 1 day) select user_id from recent",
    "a CTE of a CTE": f"with t as (select now() as n), u as (select user_id, type from {ORDER} as o cross join t where o.at > t.n) select user_id from u",
    "a derived table": f"select user_id from (select user_id, at from {ORDER} where at < now()) as t",
    "a subquery": f"select user_id from {ORDER} where at > (select now() - interval 1 day)",
    "HAVING": f"select user_id, max(at) as at from {ORDER} group by user_id having max(at) > now() - interval 1 day",
    "an aggregate": f"select user_id, count(*) as n from {ORDER} where at > now() - interval 1 day group by user_id",
    "a join": f"select o.user_id from {ORDER} as o join {USER} as u on o.user_id = u.user_id where o.at > now() - interval 1 day",
    "a union": f"select user_id from {ORDER} where at > now() union select user_id from {ORDER} where type = 'a'",
    "a window": f"select user_id, rank() over (partition by type order by at) as place from {ORDER} where at > now()",
    "a reference topic": f"select user_id, segment from {USER} where now() > timestamp '2026-01-01 00:00:00'",
    "a lookup of a seed": f"select o.user_id from {ORDER} as o join {SEED} as p on p.product_id = o.type where o.at > now()",
    "a macro": f"select user_id from {ORDER} where {{{{ recent('at') }}}}",
    "a special timestamp": f"select user_id from {ORDER} where at > timestamp 'now'",
    "a special date": f"select user_id from {ORDER} where at > date'today'",
    "a special text that is cast": f"select user_id from {ORDER} where at > cast('yesterday' as timestamp)",
    "a special text with colons": f"select user_id from {ORDER} where at > 'now UTC'::timestamp",
    "a function that casts": f"select user_id from {ORDER} where at > date('tomorrow')",
    "a shuffled array": f"select user_id, shuffle(array(1, 2)) as a from {ORDER}",
}  # fmt: skip


def compiled(root, sql, options=""):
    config = f"{{{{ config(materialized='table', unique_key='{KEY}'{options}) }}}} "
    project(root, {"orders": ORDERS, "m": config + sql})
    (root / "macros/recent.sql").write_text(
        "{% macro recent(column) %}{{ column }} > now() - interval 1 day{% endmacro %}\n"
    )
    return root


@pytest.mark.parametrize("position", POSITIONS)
def test_a_changing_value_is_refused_unless_the_table_is_computed_again(tmp_path, position):
    root = compiled(tmp_path / "refused", POSITIONS[position])
    (problem,) = compile_project(root).diagnostics
    assert problem.code == "MS546"
    assert problem.location.path == "models/m.sql"
    assert problem.help.startswith(REMEDY)
    job = job_of(compiled(tmp_path / "again", POSITIONS[position], FULL))
    (query,) = (each for each in job.physical.queries if each.maintaining is not None)
    assert query.maintaining.maintenance.changing
    assert service_of(query, job.catalog, job.project.target).every == "1 minute"


def test_every_is_part_of_the_remedy(tmp_path):
    (problem,) = compile_project(compiled(tmp_path, POSITIONS["where"], ", refresh='full'")).diagnostics
    assert (problem.code, problem.help) == (
        "MS546",
        "set config(every='1 minute'), or compute now in the model that first stores the row",
    )


UNCHANGING = {
    "a stream": "select user_id, max(at) as at, max(now()) as n from {{ source('shop', 'events') }} where at > now() group by user_id",
    "an argument": f"select user_id, unix_timestamp(at) as s from {ORDER}",
    "a text": f"select user_id, 'now() rand()' as t from {ORDER}",
    "another text": f"select user_id, 'now' as t, cast('epoch' as timestamp) as e from {ORDER}",
    "a name": f"select user_id, amount as `now()` from {ORDER}",
    "a time": f"select user_id from {ORDER} where at > timestamp '2026-01-01 00:00:00'",
}  # fmt: skip


@pytest.mark.parametrize("name", UNCHANGING)
def test_other_sql_still_runs_row_by_row(tmp_path, name):
    found = compile_project(compiled(tmp_path, UNCHANGING[name])).diagnostics
    assert "MS546" not in [each.code for each in found]
