"""Partitions that are computed of a column: in which stores, of which types."""

import pytest
from support.sql_plans import project

from millstream.compile import compile_project

PROFILES = """
shop: {target: local, outputs: {local: {kafka: embedded, tables: {iceberg_path: lake, parquet_path: files}}}}
"""
SQL = (
    "{{ config(materialized='table', store='STORE', partition_by=PARTITIONS) }}\n"
    "select user_id, amount, at, cast(at as date) as day, value from {{ source('shop', 'events') }}"
)
TRANSFORMS = "write one of year(at), month(at), day(at), hour(at), bucket(16, id) and truncate(4, id)"


def diagnostics(root, partitions, store="iceberg"):
    sql = SQL.replace("STORE", store).replace("PARTITIONS", repr(partitions))
    folder = project(root, {"raw": sql})
    (folder / "profiles.yml").write_text(PROFILES)
    return compile_project(folder, use_cache=False).diagnostics


@pytest.mark.parametrize(
    "partitions",
    ["day(at)", "DAYS( at )", ["hour(at)", "bucket(16, user_id)"], ["year(day)", "truncate(3, user_id)"],
     ["month(at)", "truncate(100, amount)", "day"], ["bucket(4, day)", "bucket(4, at)", "bucket(4, amount)"]],
)  # fmt: skip
def test_partitions_of_iceberg_tables(tmp_path, partitions):
    assert diagnostics(tmp_path, partitions) == ()


@pytest.mark.parametrize(
    ("partitions", "code", "message", "remedy"),
    [
        ("day(ats)", "MS519", "'partition_by' names 'ats', which is not a column of this model", "did you mean 'at'?"),
        ("week(at)", "MS632", "'week' does not make partitions", TRANSFORMS),
        ("bucket(user_id)", "MS632", "'bucket(user_id)' needs a number greater than 0", "write bucket(16, user_id)"),
        ("day(3, at)", "MS632", "'day(3, at)' has a number", "write day(at)"),
        ("hour(day)", "MS632", "'hour(day)' can't be computed of 'day', which is of type date",
         "name a column with a timestamp"),
        ("day(user_id)", "MS632", "'day(user_id)' can't be computed of 'user_id', which is of type string",
         "name a column with a timestamp or a date"),
        ("bucket(8, value)", "MS632", "'bucket(8, value)' can't be computed of 'value', which is of type double",
         "name a column with a text or a whole number"),
    ],
)  # fmt: skip
def test_what_can_not_be_computed_is_reported_where_it_is_asked_for(
    tmp_path, partitions, code, message, remedy
):
    (diagnostic,) = diagnostics(tmp_path, partitions)
    assert (diagnostic.code, diagnostic.message, diagnostic.help) == (code, message, remedy)
    assert (diagnostic.location.path, diagnostic.location.line) == ("models/raw.sql", 1)


@pytest.mark.parametrize(
    ("store", "partition", "column"),
    [
        ("delta", "day(at)", "cast(at as date) as at_day"),
        ("delta", "truncate(3, user_id)", "substring(user_id, 1, 3) as user_id_truncate"),
        ("parquet", "bucket(16, user_id)", "pmod(hash(user_id), 16) as user_id_bucket"),
    ],
)
def test_other_stores_have_partitions_of_a_column_that_the_model_computes(tmp_path, store, partition, column):
    (diagnostic,) = diagnostics(tmp_path / "wrong", partition, store)
    assert (diagnostic.code, diagnostic.location.line) == ("MS632", 1)
    name = column.rpartition(" ")[2]
    assert diagnostic.help == f"select {column}, and set partition_by='{name}'; or set store='iceberg'"
    sql = SQL.replace("STORE", store).replace("PARTITIONS", repr(name)).replace("select", f"select {column},")
    folder = project(tmp_path / "right", {"raw": sql})
    (folder / "profiles.yml").write_text(PROFILES)
    assert compile_project(folder, use_cache=False).diagnostics == ()
    assert diagnostics(tmp_path / "iceberg", partition) == ()
