"""What errors of tables in Parquet ask for makes the tables readable again."""

import pytest
from support.parquet_events import ParquetEvents
from support.spark import SPARK_WARNINGS
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.core.errors import MillstreamError

pytestmark = SPARK_WARNINGS


def test_a_column_of_another_type_is_written_after_the_table_is_removed(spark, tmp_path):
    events = ParquetEvents(spark, tmp_path, types={"id": "int"})
    events.batch(0, (1,))
    with pytest.raises(MillstreamError, match="column 'id' of the table 'events'") as caught:
        events.create({"id": "string"})
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "MS628"
    assert diagnostic.help.startswith("rebuild it: millstream build --full-refresh --select events")
    events.tables.drop(events.table)
    events.create({"id": "string"})
    events.batch(0, ("a",))
    assert events.query("select id from events") == [("a",)]


def test_files_of_another_program_are_moved_away(spark, tmp_path):
    other = tmp_path / "lake/events/part-0.parquet"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"PAR1")
    with pytest.raises(MillstreamError, match="has Parquet files already") as caught:
        ParquetEvents(spark, tmp_path, types={"id": "int"})
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.help[:20]) == ("MS629", "move them elsewhere,")
    other.rename(tmp_path / "part-0.parquet")
    events = ParquetEvents(spark, tmp_path, types={"id": "int"})
    events.batch(0, (1,))
    assert events.read() == [(1,)]


def test_a_file_that_is_not_the_tables_is_an_error_until_it_is_removed(spark, tmp_path):
    events = ParquetEvents(spark, tmp_path, types={"id": "int"})
    events.batch(0, (1,))
    other = events.path / "other.parquet"
    other.write_bytes(b"no rows")
    with pytest.raises(MillstreamError, match="the table 'events' can't be read") as caught:
        events.query("select id from events")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.help[:12]) == ("MS630", "remove files")
    other.unlink()
    assert events.query("select id from events") == [(1,)]


def test_a_table_with_a_key_is_allowed_in_another_store_or_without_it(tmp_path):
    profiles = "shop: {target: local, outputs: {local: {kafka: embedded, tables: {store: parquet, parquet_path: lake}}}}"
    sql = "{{ config(materialized='table' OPTIONS) }} select user_id, at from {{ source('shop', 'events') }}"
    codes = {}
    for options in (", unique_key='user_id'", ", unique_key='user_id', store='delta'", ""):
        root = project(tmp_path / str(len(options)), {"raw": sql.replace("OPTIONS", options)})
        (root / "profiles.yml").write_text(profiles)
        codes[options] = [d.code for d in compile_project(root, use_cache=False).diagnostics]
    assert list(codes.values()) == [["MS631"], [], []]
