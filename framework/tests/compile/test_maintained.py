"""Tables over tables: which ones are kept equal to their SQL, and what prevents it."""

import pytest
from support.runs import job_of
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.deploy.engine import Service, service_of

ORDERS = "{{ config(materialized='table', unique_key='user_id') }} select user_id, amount, type from {{ source('shop', 'events') }}"
VISITS = "{{ config(materialized='table', unique_key='visitor') }} select visitor, path from {{ source('shop', 'hits') }}"
ORDER, VISIT, USER = "{{ ref('orders') }}", "{{ ref('visits') }}", "{{ source('shop', 'users') }}"
POSTGRES = """
shop: {target: local, outputs: {local: {master: "local[2]", kafka: embedded, tables: {
  store: postgres, url: "postgresql://localhost/shop", username: a, password: b}}}}
"""


def config(key, more=""):
    return f"{{{{ config(materialized='table', unique_key={key!r}{more}) }}}} "


def compiled(root, sql):
    project(root, {"orders": ORDERS, "visits": VISITS, "m": sql})
    return root


def maintained(root, sql):
    queries = job_of(compiled(root, sql)).physical.queries
    return next((q.maintaining.maintenance for q in queries if q.maintaining is not None), None)


DERIVED = {
    "an aggregate": (config("type"), f"select type, max(amount) as most from {ORDER} group by type", ("type",)),
    "a foreign key": (config("user_id"), f"select o.user_id, v.path from {ORDER} as o left join {VISIT} as v on o.type = v.path", ("user_id",)),
    "a reference topic": (config("segment"), f"select u.segment, count(*) as n from {ORDER} as o join {USER} as u on o.user_id = u.user_id group by u.segment", ("segment",)),
    "a reference topic first": (config("user_id"), f"select u.user_id, u.segment, o.amount from {USER} as u left join {ORDER} as o on u.user_id = o.user_id", ("user_id",)),
    "a part of the key": (config(["type", "n"]), f"select type, count(*) as n from {ORDER} group by type", ("type",)),
    "a join by another comparison": (config("user_id"), f"select o.user_id, count(v.path) as n from {ORDER} as o left join {VISIT} as v on o.amount > length(v.path) group by o.user_id", ("user_id",)),
    "a CTE": (config("type"), f"with t as (select * from {ORDER}) select type, count(*) as n from t group by type", ("type",)),
    "distinct": (config("type"), f"select distinct type from {ORDER}", ("type",)),
    "a window with its partition": (config("user_id"), f"select type, user_id, rank() over (partition by type order by amount) as place from {ORDER}", ("type",)),
    "a window without its partition": (config("user_id"), f"select user_id, rank() over (partition by type order by amount) as place from {ORDER}", ("user_id",)),
    "the best of each group": (config("user_id"), f"with best as (select *, row_number() over (partition by type order by amount desc) as n from {ORDER}) select type, user_id from best where n <= 3", ("type",)),
    "a window over groups": (config(["type", "user_id"]), f"select type, user_id, sum(count(*)) over (partition by type) as n from {ORDER} group by type, user_id", ("type",)),
    "except": (config("k"), f"select type as k from {ORDER} except select path as k from {VISIT}", ("k",)),
    "grouping sets": (config(["type", "g", "n"]), f"select type, grouping(type) as g, count(*) as n from {ORDER} group by rollup(type)", ("type",)),
    "a subquery": (config("type"), f"select type, count(*) as n from {ORDER} where type in (select path from {VISIT}) group by type", ("type",)),
    "a subquery without a table": (config("user_id"), f"select user_id from {ORDER} where type in (select path from {VISIT}) and amount > (select 1)", ("user_id",)),
    "exists": (config("user_id"), f"select o.user_id from {ORDER} as o where exists (select 1 from {VISIT} as v where v.path = o.type)", ("user_id",)),
    "a subquery of all rows": (config("user_id"), f"select user_id, amount from {ORDER} where amount > (select avg(amount) from {ORDER})", ("user_id",)),
    "how often each count occurs": (config("n"), f"select n, count(*) as types from (select type, count(*) as n from {ORDER} group by type) group by n", ("n",)),
    "a part of the key that is counted": (config(["type", "n"]), f"select t.type, t.n from (select type, count(*) as n from {ORDER} group by type) as t", ("type",)),
    "a union": (config("k"), f"select type as k from {ORDER} union select path as k from {VISIT}", ("k",)),
}  # fmt: skip
REFUSED = {
    "all rows": (config("n"), f"select count(*) as n from {ORDER}", "it is unknown which rows of 'm' a change touches: 'n' is the result of an aggregate"),
    "a constant": (config("id"), f"select 'all' as id, count(*) as n from {ORDER}", "every change touches all rows: the key is a constant"),
    "a cross join": (config(["user_id", "visitor"]), f"select o.user_id, v.visitor from {ORDER} as o cross join {VISIT} as v", "this join has no comparison by ="),
    "another comparison in a subquery": (config("user_id"), f"select o.user_id from {ORDER} as o where exists (select 1 from {VISIT} as v where v.path > o.type)", "a change of what this subquery reads could touch every row"),
    "a subquery with an outer column in ON": (config("user_id"), f"select o.user_id from {ORDER} as o where exists (select 1 from {VISIT} as v join {ORDER} as w on w.type = o.type and w.user_id = v.visitor)", "could touch every row"),
    "a window of all rows": (config("user_id"), f"select user_id, rank() over (order by amount) as place from {ORDER}", "a window function without PARTITION BY reads all rows"),
    "a key from a window": (config("n"), f"select row_number() over (partition by type order by user_id) as n from {ORDER}", "'n' is the result of a window function"),
    "a named window": (config("user_id"), f"select user_id, rank() over w as place from {ORDER} window w as (partition by type order by amount)", "is not analyzed"),
    "a sort": (config("user_id"), f"select user_id, amount from {ORDER} order by amount limit 3", "ORDER is not analyzed"),
}  # fmt: skip


@pytest.mark.parametrize("name", DERIVED)
def test_touched_keys_are_derived(tmp_path, name):
    options, sql, by = DERIVED[name]
    maintenance = maintained(tmp_path, options + sql)
    assert maintenance is not None
    assert maintenance.by == by


@pytest.mark.parametrize("name", REFUSED)
def test_sql_without_touched_keys_is_refused_unless_it_is_computed_in_full(tmp_path, name):
    options, sql, message = REFUSED[name]
    (diagnostic,) = compile_project(compiled(tmp_path, options + sql)).diagnostics
    assert diagnostic.code == "MS543"
    assert message in diagnostic.message
    assert diagnostic.location.path == "models/m.sql"
    maintenance = maintained(tmp_path, options.replace(") }}", ", refresh='full') }}") + sql)
    assert maintenance is not None
    assert not maintenance.by


RANKED = f"select user_id, rank() over (partition by type order by amount) as place from {ORDER}"
ORDERED = {
    # the SQL, what is pointed at, the remedy, and the SQL and the options that it leads to
    "a sort": (f"select user_id, amount from {ORDER} order by amount", "order by", "remove it: a table has no order",
        f"select user_id, amount from {ORDER}", ""),
    "a sort after QUALIFY": (f"{RANKED} qualify place < 4 order by place", "order by", "remove it: a table has no order",
        f"{RANKED} qualify place < 4", ""),
    "a limit of a union": (f"select user_id from {ORDER}\nunion all select visitor as user_id from {VISIT} limit 3", "limit",
        "add ORDER BY with a key", f"select user_id from {ORDER} union all select visitor as user_id from {VISIT} order by user_id limit 3", ", refresh='full'"),
    "the first of a sort": (f"{RANKED} qualify place < 4 order by place limit 5", "order by", "set config(refresh='full')",
        f"{RANKED} qualify place < 4 order by place limit 5", ", refresh='full'"),
}  # fmt: skip


@pytest.mark.parametrize("name", ORDERED)
def test_an_order_or_limit_is_reported_where_it_is_written(tmp_path, name):
    sql, fragment, remedy, repaired, options = ORDERED[name]
    (diagnostic,) = compile_project(compiled(tmp_path, config("user_id") + sql)).diagnostics
    assert (diagnostic.code, diagnostic.location.path) == ("MS543", "models/m.sql")
    assert diagnostic.line[diagnostic.location.column - 1 : diagnostic.location.end - 1] == fragment
    assert diagnostic.help.startswith(remedy)
    (tmp_path / "repaired").mkdir()
    diagnostics = compile_project(
        compiled(tmp_path / "repaired", config("user_id", options) + repaired)
    ).diagnostics
    assert [
        diagnostic
        for diagnostic in diagnostics
        if diagnostic.severity == "error" and diagnostic.code == "MS543"
    ] == []


@pytest.mark.parametrize(
    "view",
    [
        f"select type, count(*) as n from {ORDER} group by type",
        f"select type, count(*) as n from (select type from {ORDER}) group by type",
        f"select distinct type from {ORDER}",
    ],
)
def test_a_view_that_aggregates_tables_should_be_a_table(tmp_path, view):
    reader = (
        config("user_id")
        + f"select o.user_id from {ORDER} as o join {{{{ ref('v') }}}} as v on v.type = o.type"
    )

    def errors(sql):
        root = tmp_path / sql[:9].strip("{ ")
        project(root, {"orders": ORDERS, "visits": VISITS, "v": sql, "m": reader})
        return [
            diagnostic for diagnostic in compile_project(root).diagnostics if diagnostic.severity == "error"
        ]

    (diagnostic,) = errors(view)
    assert diagnostic.code in {"MS510", "MS511"}
    assert diagnostic.help.startswith("make this view a table, config(materialized='table', unique_key=…)")
    assert errors(config("type") + view) == []


WEIGHTS = config("type")
COUNTED = f"select type, count(*) as n, sum(amount) as total from {ORDER} group by type"
WITHOUT_WEIGHTS = {
    "no count of rows": (WEIGHTS, f"select type, sum(amount) as total from {ORDER} group by type"),
    "a maximum": (WEIGHTS, f"select type, count(*) as n, max(amount) as most from {ORDER} group by type"),
    "a sum of doubles": (WEIGHTS, f"select type, count(*) as n, sum(amount * 1.5d) as total from {ORDER} group by type"),
    "a count of distinct values": (WEIGHTS, f"select type, count(*) as n, count(distinct amount) as d from {ORDER} group by type"),
    "groups that HAVING leaves out": (WEIGHTS, f"{COUNTED} having count(*) > 1"),
    "an expression of aggregates": (WEIGHTS, f"select type, count(*) as n, sum(amount) / count(*) as average from {ORDER} group by type"),
    "a join": (WEIGHTS, f"select o.type, count(*) as n from {ORDER} as o join {VISIT} as v on o.type = v.path group by o.type"),
    "an option": (config("type", ", refresh='keys'"), COUNTED),
}  # fmt: skip


def test_counts_and_sums_are_changed_by_weights(tmp_path):
    maintenance = maintained(tmp_path, WEIGHTS + COUNTED)
    assert "_millstream_weighted_0" in maintenance.weighted
    assert "_millstream_now" not in maintenance.weighted


@pytest.mark.parametrize("name", WITHOUT_WEIGHTS)
def test_what_weights_do_not_give_exactly_is_computed(tmp_path, name):
    options, sql = WITHOUT_WEIGHTS[name]
    maintenance = maintained(tmp_path, options + sql)
    assert maintenance.by
    assert not maintenance.weighted


def test_tests_that_keep_rows_out_prevent_weights(tmp_path):
    root = compiled(tmp_path, WEIGHTS + COUNTED)
    (root / "models/m.yml").write_text(
        "models: [{name: m, columns: [{name: total, tests: [{not_null: {severity: drop}}]}]}]\n"
    )
    (query,) = (q for q in job_of(root).physical.queries if q.maintaining is not None)
    assert not query.maintaining.maintenance.weighted


def test_a_projection_of_one_table_still_runs_row_by_row(tmp_path):
    assert (
        maintained(
            tmp_path, config("user_id") + f"select user_id, amount * 2 as twice from {ORDER} where amount > 1"
        )
        is None
    )


def test_a_sink_can_not_follow_both_sides_of_a_join_with_a_reference_topic(tmp_path):
    sql = f"{{{{ config(materialized='sink', key='user_id') }}}} select u.user_id, u.segment, o.amount from {USER} as u join {ORDER} as o on u.user_id = o.user_id"
    (diagnostic,) = compile_project(compiled(tmp_path, sql)).diagnostics
    assert (diagnostic.code, diagnostic.message) == (
        "MS527",
        "a change of only 'orders' would not reach this join of tables",
    )


def test_a_wrong_key_of_a_projection_stays_an_error(tmp_path):
    root = compiled(tmp_path, config("type") + f"select type, amount from {ORDER}")
    assert [diagnostic.code for diagnostic in compile_project(root).diagnostics] == ["MS511"]


def test_an_input_in_a_store_without_versions_is_refused(tmp_path):
    root = compiled(tmp_path, config("type") + f"select type, count(*) as n from {ORDER} group by type")
    (root / "profiles.yml").write_text(POSTGRES)
    diagnostics = [
        diagnostic for diagnostic in compile_project(root).diagnostics if diagnostic.code == "MS545"
    ]
    assert [diagnostic.help for diagnostic in diagnostics] == ["give 'orders' store: delta or store: iceberg"]
    (root / "profiles.yml").write_text(POSTGRES.replace("store:", "iceberg_path: lake, store:"))
    for store in ("delta", "iceberg"):
        orders = ORDERS.replace("unique_key", f"store='{store}', unique_key")
        (root / "models/orders.sql").write_text(orders)
        assert not [d for d in compile_project(root).diagnostics if d.severity == "error"]


@pytest.mark.parametrize(
    ("options", "sql", "message"),
    [
        ("refresh='full'", "select user_id as k, count(*) as n from {{ source('shop', 'events') }} group by user_id", "'m' reads events row by row"),
        ("refresh='keys'", "select a as k, count(*) as n from {{ ref('letters') }} group by a", "'m' reads only seeds"),
        ("every='1 minute'", f"select type as k, count(*) as n from {ORDER} group by type", "'m' has no refresh='full'"),
        ("every='1 minute', refresh='keys'", f"select type as k, count(*) as n from {ORDER} group by type", "'m' has no refresh='full'"),
    ],
)  # fmt: skip
def test_options_that_only_tables_over_tables_have(tmp_path, options, sql, message):
    root = compiled(tmp_path, config("k", f", {options}") + sql)
    (root / "seeds").mkdir(exist_ok=True)
    (root / "seeds/letters.csv").write_text("a\nx\n")
    (diagnostic,) = compile_project(root).diagnostics
    assert diagnostic.code == "MS548"
    assert message in diagnostic.message


def test_how_often_a_table_is_computed_in_full_changes_nothing_else(tmp_path):
    full = f"select user_id, amount from {ORDER} order by amount limit 3"
    services = []
    for number, options in enumerate((", refresh='full'", ", refresh='full', every='10 minutes'")):
        job = job_of(compiled(tmp_path / str(number), config("user_id", options) + full))
        (query,) = (query for query in job.physical.queries if query.maintaining is not None)
        services.append((query, service_of(query, job.catalog, job.project.target)))
    (before, usual), (after, changed) = services
    assert before == after
    assert usual == Service(None, 1)
    assert changed == Service(None, 1, "10 minutes")


def test_a_column_of_unknown_type_is_refused_until_it_is_cast(tmp_path):
    columns = (
        f"(select user_id, amount, amount + 1 as more from {ORDER}) unpivot (n for name in (amount, more))"
    )
    options = config(["user_id", "name"], ", refresh='full'")
    errors = compile_project(
        compiled(tmp_path, f"{options} select user_id, name, n from {columns}")
    ).diagnostics
    assert [(diagnostic.code, diagnostic.severity, diagnostic.location.path) for diagnostic in errors] == [
        ("MS414", "error", "models/m.sql"),
        ("MS414", "error", "models/m.sql"),
        ("MS414", "error", "models/m.sql"),
    ]
    assert "write cast(name as …)" in errors[1].help
    cast = "cast(user_id as string) as user_id, cast(name as string) as name, cast(n as int) as n"
    assert not compile_project(compiled(tmp_path, f"{options} select {cast} from {columns}")).diagnostics
