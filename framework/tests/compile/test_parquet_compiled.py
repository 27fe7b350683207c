"""What models in Parquet can and can't do is known before anything runs."""

import pytest
from support.sql_plans import project

from millstream.compile import compile_project

PROFILES = """
shop: {target: local, outputs: {local: {master: "local[2]", kafka: embedded, tables: {store: parquet, parquet_path: lake}}}}
"""
EVENTS = "{{ source('shop', 'events') }}"
SELECT = f"select user_id, value, at, cast(at as date) as day from {EVENTS}"
OTHER_STORE = "set store='delta', or remove "


def diagnostics(root, config, sql=SELECT, profiles=PROFILES, **models):
    models = {"raw": f"{{{{ config(materialized='table'{config}) }}}} {sql}", **models}
    folder = project(root, models)
    (folder / "profiles.yml").write_text(profiles)
    return compile_project(folder, use_cache=False).diagnostics


@pytest.mark.parametrize(
    "config",
    ["", ", partition_by='day'", ", partition_by=['day', 'hour']", ", retention='30 days', order_by='at'",
     ", store='delta', unique_key='user_id'", ", store='delta', cluster_by='user_id'",
     ", store='delta', order_by='at', delete_when='value < 0', delete_by='user_id'"],
)  # fmt: skip
def test_rows_are_appended_and_others_stay_in_other_stores(tmp_path, config):
    sql = SELECT.replace("select", "select hour(at) as hour,")
    readers = "{{ config(materialized='table', store='delta', unique_key='hour') }} select hour, count(*) as n from {{ ref('raw') }} group by hour"
    models = {"counts": readers} if "delta" not in config else {}
    assert diagnostics(tmp_path, config, sql, **models) == ()


@pytest.mark.parametrize(
    ("config", "code", "message", "remedy"),
    [
        (", unique_key='user_id'", "MS631", "'raw' has a unique_key, but rows in Parquet can't change",
         OTHER_STORE + "unique_key: then each row is appended"),
        (", order_by='at', delete_when='value < 0', delete_by='user_id'", "MS631",
         "'delete_by' deletes rows, but rows in Parquet can't change", OTHER_STORE + "'delete_by'"),
        (", cluster_by='user_id'", "MS121",
         "'cluster_by' applies when files are combined, and those of a table in Parquet are not",
         "remove it, or set store='delta'"),
        (", target_file_size='1 GB'", "MS121",
         "'target_file_size' applies when files are combined, and those of a table in Parquet are not",
         "remove it, or set store='delta'"),
        (", partition_by='user_id'", "MS697",
         "a folder's name can't hold all values of 'user_id', which is of type string",
         "partition by a date or a whole number, such as cast(at as date) as day; or set store='delta'"),
    ],
)  # fmt: skip
def test_what_parquet_files_can_not_do_is_reported_where_it_is_asked_for(
    tmp_path, config, code, message, remedy
):
    (diagnostic,) = diagnostics(tmp_path, config)
    assert (diagnostic.code, diagnostic.message, diagnostic.help) == (code, message, remedy)
    assert (diagnostic.location.path, diagnostic.location.line) == ("models/raw.sql", 1)


def test_a_target_needs_a_folder_for_them(tmp_path):
    profiles = PROFILES.replace(", parquet_path: lake", "")
    (diagnostic,) = diagnostics(tmp_path, "", profiles=profiles)
    assert (diagnostic.code, diagnostic.message) == ("MS108", "tables in Parquet need 'parquet_path'")
    assert diagnostic.help == "add parquet_path: lake/events"


def test_the_folder_is_one_of_machines_or_in_s3(tmp_path):
    (diagnostic,) = diagnostics(tmp_path, "", profiles=PROFILES.replace("lake", "'hdfs://lake/events'"))
    assert (diagnostic.code, diagnostic.message) == (
        "MS107",
        "'parquet_path' must be a folder, and 'hdfs://lake/events' is an address",
    )
    assert diagnostic.help == (
        "write a folder that all of Spark's machines have: lake/events; or one in S3: s3a://…"
    )
    assert (diagnostic.location.path, diagnostic.location.line) == ("profiles.yml", 2)
    for folder in ("file:/lake/events", "s3a://lake/events"):
        assert diagnostics(tmp_path, "", profiles=PROFILES.replace("lake", f"'{folder}'")) == ()
