"""What models in Iceberg can and can't do is known before anything runs."""

import pytest
from support.sql_plans import project

from millstream.compile import compile_project

PROFILES = """
shop: {target: local, outputs: {local: {master: "local[2]", kafka: embedded, tables: {iceberg_path: lake}}}}
"""
EVENTS = "{{ source('shop', 'events') }}"
TOTALS = (
    "{{ config(materialized='table', unique_key='user_id', store='iceberg') }} "
    f"select user_id, count(*) as events from {EVENTS} group by user_id"
)


def diagnostics(root, profiles=PROFILES, **models):
    folder = project(root, models)
    (folder / "profiles.yml").write_text(profiles)
    return compile_project(folder, use_cache=False).diagnostics


@pytest.mark.parametrize(
    "config",
    ["", ", partition_by='day'", ", cluster_by='user_id'", ", target_file_size='32 MB'",
     ", retention='30 days', order_by='at'"],
)  # fmt: skip
def test_rows_are_appended_and_arranged(tmp_path, config):
    sql = f"select user_id, at, cast(at as date) as day from {EVENTS}"
    raw = f"{{{{ config(materialized='table', store='iceberg'{config}) }}}} {sql}"
    assert diagnostics(tmp_path, raw=raw, totals=TOTALS) == ()


def test_a_table_that_a_query_looks_up_is_refused_where_it_is_named(tmp_path):
    sql = f"{{{{ config(materialized='sink') }}}} select e.user_id, t.events\nfrom {EVENTS} as e\nleft join {{{{ ref('totals') }}}} as t on e.user_id = t.user_id"
    (diagnostic,) = diagnostics(tmp_path, totals=TOTALS, named=sql)
    assert (diagnostic.code, diagnostic.message) == (
        "MS626",
        "'totals' is stored in Iceberg: a query would not see rows that come after its start",
    )
    assert (diagnostic.location.line, diagnostic.help) == (3, "give 'totals' another store")


def test_a_table_that_a_cte_looks_up_is_refused_where_it_is_named(tmp_path):
    sql = f"{{{{ config(materialized='sink') }}}} with joined as (\nselect e.user_id, t.events from {EVENTS} as e\nleft join {{{{ ref('totals') }}}} as t on e.user_id = t.user_id\n) select user_id, events from joined"
    (diagnostic,) = diagnostics(tmp_path, totals=TOTALS, named=sql)
    assert (diagnostic.code, diagnostic.location.line) == ("MS626", 3)


def test_a_table_over_a_table_in_iceberg_is_refused(tmp_path):
    sql = "{{ config(materialized='table', unique_key='events') }} select events, count(*) as users from {{ ref('totals') }} group by events"
    codes = [diagnostic.code for diagnostic in diagnostics(tmp_path, totals=TOTALS, spread=sql)]
    assert codes == ["MS545"]
