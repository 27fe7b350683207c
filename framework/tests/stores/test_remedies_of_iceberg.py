"""What errors of tables in Iceberg ask for makes the tables readable again."""

import sys

import pytest
from support.iceberg_events import NAME, ROW, Events
from support.spark import SPARK_WARNINGS
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.core.errors import MillstreamError
from millstream.stores.iceberg.spark.address import InFolder
from millstream.stores.iceberg.spark.table import iceberg
from millstream.stores.local import local_tables

pytestmark = SPARK_WARNINGS


def test_rows_that_another_program_marked_as_deleted_are_read_after_their_files_are_rewritten(
    spark, tmp_path
):
    events = Events(spark, tmp_path)
    events.batch(0, ROW)
    table = InFolder(spark, str(events.path)).load()
    marked = iceberg(spark).FileMetadata.deleteFileBuilder(table.spec()).ofPositionDeletes()
    marked = marked.withPath(f"{events.path}/data/d.parquet").withFormat("PARQUET")
    marked = marked.withFileSizeInBytes(9).withRecordCount(1).build()
    table.newRowDelta().addDeletes(marked).commit()
    with pytest.raises(MillstreamError, match="MS625") as caught:
        events.tables.rows(spark, NAME, ())
    assert caught.value.diagnostics[0].help.startswith("rewrite its files there")
    table.refresh()
    table.newRewrite().deleteFile(marked).commit()
    assert events.tables.rows(spark, NAME, ()).count() == 1


def test_a_query_reads_tables_once_pyiceberg_is_installed(spark, tmp_path, monkeypatch):
    events = Events(spark, tmp_path)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyiceberg.table", None)
        with pytest.raises(MillstreamError, match="reading the Iceberg table 'events'") as caught:
            events.query("select * from events")
    assert caught.value.diagnostics[0].code == "MS623"
    assert caught.value.diagnostics[0].help == "install it: pip install 'millstream[iceberg]'"
    assert events.query("select * from events") == []


def test_a_damaged_table_is_an_error_until_it_can_be_reached_again(spark, tmp_path):
    events = Events(spark, tmp_path)
    local = local_tables("iceberg", events.target, tmp_path)
    before = local.version(NAME)
    events.batch(0, ROW)
    assert before != local.version(NAME)
    hint = events.path / "metadata" / "version-hint.text"
    number = hint.read_text()
    hint.write_text("99")
    assert local.version(NAME) is None
    with pytest.raises(MillstreamError, match="the table 'events' can't be read") as caught:
        events.query("select id from events")
    assert caught.value.diagnostics[0].code == "MS622"
    assert caught.value.diagnostics[0].help.startswith("check that the storage is reachable")
    hint.write_text(number)
    assert events.query("select id from events") == [(1,)]
    events.tables.drop(events.table)
    with pytest.raises(MillstreamError, match="MS84"):
        events.query("select * from events")


def test_a_column_of_another_type_is_written_after_the_table_is_removed(spark, tmp_path):
    events = Events(spark, tmp_path, types={"id": "int"})
    events.batch(0, (1,))
    with pytest.raises(MillstreamError, match="column 'id' of the table 'events'") as caught:
        events.create({"id": "string"})
    assert caught.value.diagnostics[0].code == "MS624"
    assert (
        caught.value.diagnostics[0].help
        == "rebuild it: millstream build --full-refresh --select events (this first removes what is stored)"
    )
    events.tables.drop(events.table)
    events.create({"id": "string"})
    events.batch(0, ("a",))
    assert events.query("select id from events") == [("a",)]


def test_a_table_that_a_query_looks_up_is_allowed_in_another_store(tmp_path):
    profiles = "shop: {target: local, outputs: {local: {kafka: embedded, tables: {iceberg_path: lake}}}}"
    totals = (
        "{{ config(materialized='table', unique_key='user_id', store='STORE') }} "
        "select user_id, count(*) as events from {{ source('shop', 'events') }} group by user_id"
    )
    named = (
        "{{ config(materialized='sink') }} select e.user_id, t.events from {{ source('shop', 'events') }} as e "
        "left join {{ ref('totals') }} as t on e.user_id = t.user_id"
    )
    codes = {}
    for store in ("iceberg", "delta"):
        root = project(tmp_path / store, {"totals": totals.replace("STORE", store), "named": named})
        (root / "profiles.yml").write_text(profiles)
        diagnostics = compile_project(root, use_cache=False).diagnostics
        codes[store] = [(diagnostic.code, diagnostic.help) for diagnostic in diagnostics]
    assert codes == {"iceberg": [("MS626", "give 'totals' another store")], "delta": []}
