"""What models in Iceberg can and can't do is known before anything runs."""

import re
from textwrap import indent

import pytest
from example.generated import ROOT
from support.runs import job_of
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.engine.spark.jars import features_of
from millstream.project.values import Target

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


CATALOG = PROFILES.replace(
    "{iceberg_path: lake}",
    "{store: iceberg, iceberg_catalog: lake, iceberg_namespace: shop}, "
    'catalogs: {lake: {type: rest, uri: "http://127.0.0.1:1"}}',
)
"""A target whose tables are in a catalog, which compiling does not need."""


@pytest.mark.parametrize(
    ("wrong", "right", "code", "message", "remedy"),
    [
        ("{store: iceberg}, ", "{store: iceberg, iceberg_catalog: lake, iceberg_namespace: shop}, ", "MS108",
         "tables in Iceberg need 'iceberg_path'",
         "add iceberg_path: s3a://lake/tables, or iceberg_catalog: lake and iceberg_namespace: shop"),
        ("iceberg_catalog: lake}, ", "iceberg_catalog: lake, iceberg_namespace: shop}, ", "MS108",
         "tables in Iceberg need 'iceberg_namespace'", "add iceberg_namespace: shop"),
        ("iceberg_catalog: lakes, ", "iceberg_catalog: lake, ", "MS107",
         "the target has no catalog 'lakes'", "did you mean 'lake'?"),
        ("iceberg_path: lake, iceberg_catalog", "iceberg_catalog", "MS107",
         "'iceberg_catalog' already says where tables are", "remove iceberg_path or iceberg_catalog"),
        ("type: sql,", "type: rest,", "MS107",
         "tables can be stored in a REST catalog, and 'lake' is of type sql",
         "name a catalog of type: rest, or set iceberg_path instead"),
    ],
)  # fmt: skip
def test_a_catalog_is_named_as_it_is_declared(tmp_path, wrong, right, code, message, remedy):
    raw = f"{{{{ config(materialized='table') }}}} select user_id, at from {EVENTS}"
    assert right in CATALOG
    (diagnostic,) = diagnostics(tmp_path, CATALOG.replace(right, wrong), raw=raw)
    assert (diagnostic.code, diagnostic.message, diagnostic.help) == (code, message, remedy)
    assert (diagnostic.location.path, diagnostic.location.line) == ("profiles.yml", 2)
    assert diagnostics(tmp_path, CATALOG, raw=raw) == ()


def test_only_a_catalog_in_s3_needs_its_client():
    def features(properties):
        tables = {"store": "iceberg", "iceberg_catalog": "lake", "iceberg_namespace": "shop"}
        return features_of(Target("shop", "local", {"tables": tables, "catalogs": {"lake": properties}}))

    assert features({"uri": "http://lake"}) == ("kafka", "delta", "iceberg")
    assert "s3" in features({"uri": "http://lake", "warehouse": "s3://lake/tables"})
    assert "s3" in features({"uri": "http://lake", "warehouse": "shop", "s3.region": "eu-central-1"})


def test_the_target_of_the_page_is_one(tmp_path, monkeypatch):
    monkeypatch.setenv("LAKE_CREDENTIAL", "shop:swordfish")
    page = (ROOT / "docs/lake.md").read_text()
    (target,) = re.findall(r"```yaml\n([^`]*iceberg_catalog[^`]*)```", page)
    profiles = "shop:\n  target: local\n  outputs:\n    local:\n      kafka: embedded\n"
    raw = f"{{{{ config(materialized='table') }}}} select user_id, at from {EVENTS}"
    assert diagnostics(tmp_path, profiles + indent(target, "      "), raw=raw) == ()


SPREAD = "{{ config(materialized='table', unique_key='events') }} select events, count(*) as users from {{ ref('totals') }} group by events"
FEW = "{{ config(materialized='table', unique_key='user_id') }} select user_id, events from {{ ref('totals') }} where events < 3"


def test_a_table_over_a_table_in_iceberg_is_kept_equal_to_its_sql(tmp_path):
    assert [d.code for d in diagnostics(tmp_path, totals=TOTALS, spread=SPREAD, few=FEW)] == []
    queries = job_of(tmp_path).physical.queries
    maintained = {query.maintaining.target.model for query in queries if query.maintaining}
    assert maintained == {"model.spread", "model.few"}, "its changes can't be streamed row by row"
