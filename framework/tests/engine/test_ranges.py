"""A range of an append-only table is computed again: its rows are replaced, once, and all others stay."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from deltalake import DeltaTable
from pyiceberg.table import StaticTable
from support import postgres as postgres_program
from support.runs import built, errors, iceberg_rows, job_of, table_rows
from support.shops import PROFILES
from support.spark import SPARK_WARNINGS
from support.time_ranges import RAW, day, replaced, sent_on

from millstream.deploy.checkpoints.files import last_done, records_in
from millstream.project.folders import checkpoints_of
from millstream.stores.files import LocalFiles

pytestmark = SPARK_WARNINGS

EVENTS = "{{ source('web', 'events') }}"
STORED = "{{ config(materialized='table', store='STORE', partition_by='day') }} "
PLAIN = STORED.replace(", partition_by='day'", "")
ROWS = f"select id, value * 2 as doubled, at, cast(at as date) as day from {EVENTS}"
HOURS = (
    "{{ config(materialized='table', emit='on_close') }} "
    f"select window.start as began, kind, count(*) as events from {EVENTS} group by kind, window(at, '1 hour')"
)


class Stored:
    """The table `raw` of a store, as other programs see it."""

    def __init__(self, kind, root, stored_in):
        """`stored_in` is the schema of a database, or a catalog and its namespace."""
        self.kind, self.store, self.root, self.stored_in = (
            kind,
            "iceberg" if kind == "catalog" else kind,
            root,
            stored_in,
        )

    def rows(self):
        match self.kind:
            case "postgres":
                return sorted(postgres_program.rows(self.stored_in, "select id, doubled from raw"))
            case "delta":
                rows = table_rows(self.root, "model.raw")
            case "iceberg":
                rows = iceberg_rows(self.root, "raw")
            case "catalog":
                catalog, namespace = self.stored_in
                rows = catalog.rows(namespace, "raw")
        return sorted((row["id"], row["doubled"]) for row in rows)

    def files(self):
        """Return the files of each day, with the times at which they were written."""
        match self.kind:
            case "delta":
                folder = self.root / ".millstream/local/tables/raw"
                paths = [
                    folder / path
                    for path in DeltaTable(str(folder)).get_add_actions(flatten=True)["path"].to_pylist()
                ]
            case "iceberg" | "catalog":
                if self.kind == "catalog":
                    catalog, namespace = self.stored_in
                    table = catalog.client.load_table((namespace, "raw"))
                else:
                    table = StaticTable.from_metadata(str(self.root / "lake/raw"))
                paths = [Path(urlsplit(task.file.file_path).path) for task in table.scan().plan_files()]
            case "postgres":
                return {}
        return {str(path): path.stat().st_mtime_ns for path in paths}


@pytest.fixture(
    params=[
        "delta",
        pytest.param("iceberg", marks=pytest.mark.long),
        pytest.param("catalog", marks=pytest.mark.long),
        pytest.param("postgres", marks=pytest.mark.long),
    ]
)
def stored(request, shop, monkeypatch):
    options, stored_in = "{iceberg_path: lake}", None
    if request.param == "catalog":
        catalog = request.getfixturevalue("catalog")
        stored_in = (catalog, catalog.new_namespace())
        options = catalog.settings(stored_in[1])
    if request.param == "postgres":
        stored_in = database = request.getfixturevalue("postgres")
        monkeypatch.setenv("DATABASE_PASSWORD", postgres_program.PASSWORD)
        password = "\"{{ env_var('DATABASE_PASSWORD') }}\""
        options = f'{{url: "{database.url}", username: {database.username}, database_schema: {database.schema}, password: {password}}}'
    shop.write("profiles.yml", PROFILES.replace("kafka: embedded", f"kafka: embedded, tables: {options}"))
    return Stored(request.param, shop.root, stored_in)


def test_one_day_is_computed_again_and_the_other_days_stay(shop, first_spark, stored):
    head = (PLAIN if stored.store == "postgres" else STORED).replace("STORE", stored.store)
    shop.model("raw", head + ROWS)
    shop.send(*(sent_on(day, 10 * day + number) for day in (1, 2, 3) for number in range(2)))
    built(shop.root, first_spark)
    shop.send(sent_on(2, 22))
    built(shop.root, first_spark)
    files = stored.files()

    shop.model("raw", head + ROWS.replace("value * 2", "value * 3") + " where id <> 21")
    shop.send(sent_on(2, 23))  # is read first, then computed with the others
    assert replaced(shop, first_spark, day(2), day(3)) == [(3, 4)]
    others = [(10, 20.0), (11, 22.0), (30, 60.0), (31, 62.0)]
    assert stored.rows() == sorted([*others, (20, 60.0), (22, 66.0), (23, 69.0)])
    assert of_other_days(stored.files()) == of_other_days(files)
    assert stored.store == "postgres" or of_other_days(files)
    assert batches(shop) == 2
    assert parts_that_are_new(shop) == [("2026-01-02", "2026-01-03")]

    assert replaced(shop, first_spark, day(2), day(3)) == [(3, 3)]
    assert batches(shop) == 2
    assert parts_that_are_new(shop) == [("2026-01-02", "2026-01-03")]
    shop.send(sent_on(2, 24), sent_on(4, 40))
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert stored.rows() == sorted([*others, (20, 60.0), (22, 66.0), (23, 69.0), (24, 72.0), (40, 120.0)])
    assert replaced(shop, first_spark, day(5), day(6)) == [(0, 0)]


def of_other_days(files):
    return {path: time for path, time in files.items() if "2026-01-02" not in path}


def parts_that_are_new(shop):
    """Return the ranges of the table that are not those of the version before the accepted edit."""
    job = job_of(shop.root)
    (record,) = records_in(LocalFiles(), checkpoints_of(job.project.target, shop.root)).values()
    return [(start[:10], end[:10]) for _, start, end in record.older[RAW].replaced]


def batches(shop):
    """Return the number of the last batch of the query."""
    job = job_of(shop.root)
    checkpoints = checkpoints_of(job.project.target, shop.root)
    ((name, record),) = records_in(LocalFiles(), checkpoints).items()
    return last_done(LocalFiles(), f"{checkpoints}/{name}/{record.folder}")


@pytest.mark.long
def test_closed_windows_of_a_range_get_late_rows_and_open_ones_follow(shop, first_spark):
    shop.model("raw", HOURS)
    shop.send(*(sent_on(1, number, hour, number) for number, hour in enumerate((10, 11, 11, 12, 13))))
    built(shop.root, first_spark)
    counts = {10: 1, 11: 2, 12: 1}
    assert hours(shop) == counts
    shop.send(sent_on(1, 9, 11), sent_on(1, 8, 12))
    built(shop.root, first_spark)
    assert hours(shop) == counts  # they came too late
    assert replaced(shop, first_spark, day(1, 11), day(1, 12)) == [(1, 1)]
    assert hours(shop) == counts | {11: 3}
    # The window of 13 o'clock has not closed, and is stored once it has.
    assert replaced(shop, first_spark, day(1, 12), day(1, 18)) == [(1, 1)]
    assert hours(shop) == counts | {11: 3, 12: 2}
    shop.send(sent_on(1, 7, 13), sent_on(1, 6, 18))
    built(shop.root, first_spark)
    assert hours(shop) == {10: 1, 11: 3, 12: 2, 13: 2}


def hours(shop):
    rows = table_rows(shop.root, "model.raw")
    assert len({row["began"] for row in rows}) == len(rows)
    return {row["began"].hour: row["events"] for row in rows}
