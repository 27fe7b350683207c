"""Files that are deleted or archived once all queries of the project have read them, and not before."""

import os
import shutil
from contextlib import contextmanager

import pytest
from engine.test_source_of_files import COUNTS, LAKE, MODEL, rows_of, write_lines
from support.running import running
from support.runs import built, errors, table_rows
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import Apply, FullRefresh
from millstream.deploy.values import BatchCompleted, DiagnosticEvent
from millstream.runner.commands import run as runs

pytestmark = SPARK_WARNINGS


def line(id_):
    return f'{{"id": {id_}, "customer": "ann", "amount": 2.5, "at": "2026-01-01T12:00:00Z"}}'


def declared(shop, *options):
    more = "".join(f"\n        {option}" for option in options)
    shop.write("models/lake.yml", LAKE.replace("FORMAT", f"json{more}"))


def files(shop, folder="data/orders"):
    return sorted(
        p.relative_to(shop.root / folder).as_posix() for p in (shop.root / folder).rglob("*") if p.is_file()
    )


def counts(shop):
    return {row["file"].rpartition("/")[2]: row["orders"] for row in table_rows(shop.root, "model.counts")}


def build(shop, spark, **options):
    _, events = built(shop.root, spark, **options)
    assert errors(events) == []


def test_a_file_goes_once_all_queries_have_read_it(shop, first_spark):
    declared(shop, "clean_up: delete")
    shop.model("orders", MODEL)
    shop.model("counts", COUNTS)
    write_lines(shop, "one.json", line(1))
    build(shop, first_spark, models=["model.orders"])
    assert files(shop) == ["one.json"]
    build(shop, first_spark)
    assert (files(shop), sorted(rows_of(shop)), counts(shop)) == ([], [1], {"one.json": 1})
    # A file of a name that was read is not read again, and so it is not deleted.
    write_lines(shop, "one.json", line(7))
    write_lines(shop, "two.json", line(2))
    build(shop, first_spark)
    assert (files(shop), sorted(rows_of(shop)), counts(shop)) == (
        ["one.json"],
        [1, 2],
        {"one.json": 1, "two.json": 1},
    )
    write_lines(shop, "three.json", line(3), "{")
    write_lines(shop, "four.json", line(4))
    assert failure_of(shop, first_spark) == {"MS862"}
    assert files(shop) == ["four.json", "one.json", "three.json"]
    # A file that is fixed was written again since a query saw it first.
    write_lines(shop, "three.json", line(3))
    build(shop, first_spark)
    assert (files(shop), sorted(rows_of(shop))) == (["one.json", "three.json"], [1, 2, 3, 4])
    # A rebuild has what is left.
    build(shop, first_spark, intent=FullRefresh())
    assert (files(shop), sorted(rows_of(shop)), counts(shop)) == (
        [],
        [3, 7],
        {"one.json": 1, "three.json": 1},
    )


def failure_of(shop, spark):
    _, events = built(shop.root, spark)
    return {error.code for error in errors(events)}


def test_files_are_moved_to_an_archive_when_they_are_old_enough(shop, first_spark):
    declared(shop, "clean_up: archive", "archive_path: data/read", "clean_up_after: 1 hour")
    shop.model("orders", MODEL)
    folder = shop.root / "data/orders/day=1"
    write_lines(shop, "new.json", line(1))
    folder.mkdir()
    (folder / "old.json").write_text(line(2))
    os.utime(folder / "old.json", (10**9, 10**9))
    build(shop, first_spark)
    assert (files(shop), files(shop, "data/read")) == (["new.json"], ["day=1/old.json"])
    # Of an earlier file of that name, the archive keeps the lines.
    build(shop, first_spark, intent=FullRefresh())
    assert sorted(rows_of(shop)) == [1]
    (folder / "old.json").write_text(line(3))
    os.utime(folder / "old.json", (10**9 + 1, 10**9 + 1))
    build(shop, first_spark)
    assert files(shop, "data/read") == ["day=1/old.1.json", "day=1/old.json"]


@pytest.mark.long
def test_a_file_stays_that_the_version_before_would_read_after_a_rollback(shop, first_spark):
    declared(shop)
    shop.model("orders", MODEL)
    write_lines(shop, "one.json", line(1))
    build(shop, first_spark)
    declared(shop, "clean_up: delete")
    shop.model("orders", MODEL.replace("doubled, at", "doubled + 1 as doubled, at"))
    build(shop, first_spark, intent=Apply(accept_differences=True))
    assert files(shop) == []
    write_lines(shop, "two.json", line(2))
    build(shop, first_spark)
    assert (files(shop), sorted(rows_of(shop))) == (["two.json"], [1, 2])


@pytest.mark.long
def test_a_run_removes_files_while_it_reads_others(shop, first_spark, monkeypatch):
    monkeypatch.setattr(runs, "CLEAN_UP", 0.2)
    declared(shop, "clean_up: archive", "archive_path: data/read")
    shop.model("orders", MODEL)
    shop.model("counts", COUNTS)
    write_lines(shop, "0.json", line(1))
    with running(shop.root, first_spark) as run:
        for number in range(1, 4):
            write_lines(shop, f"{number}.json", line(number + 1))
            run.until(lambda number=number: len(files(shop, "data/read")) > number)
    assert (files(shop), len(files(shop, "data/read"))) == ([], 4)
    assert sorted(rows_of(shop)) == [1, 2, 3, 4]
    assert set(counts(shop).values()) == {1}


OTHERS = """
sources:
  - name: others
    files:
      - name: orders
        path: data/others/*.json
        format: json
        columns: [{name: id, type: bigint}]
"""


@contextmanager
def unlistable(folder):
    """Let a folder have paths that are too long to be listed, though Spark finds the files of a pattern."""
    deep = folder / "deep"
    deep.mkdir()
    opened = [os.open(deep, os.O_RDONLY)]
    for _ in range(20):
        os.mkdir("d" * 250, dir_fd=opened[-1])
        opened.append(os.open("d" * 250, os.O_RDONLY, dir_fd=opened[-1]))
    for number in opened:
        os.close(number)
    try:
        yield
    finally:
        shutil.rmtree(deep)


@pytest.mark.long
def test_a_run_warns_once_of_what_prevents_it_and_tries_again(shop, first_spark, monkeypatch):
    monkeypatch.setattr(runs, "CLEAN_UP", 0.1)
    declared(shop, "clean_up: delete")
    shop.write("models/others.yml", OTHERS)
    shop.model("orders", MODEL)
    shop.model(
        "others",
        "{{ config(materialized='table', unique_key='id') }} select id from {{ source('others', 'orders') }}",
    )
    (shop.root / "data/others").mkdir(parents=True)
    write_lines(shop, "one.json", line(1))
    with running(shop.root, first_spark) as run:
        run.until(lambda: files(shop) == [] and run.of(BatchCompleted))
        with unlistable(shop.root / "data/others"):
            write_lines(shop, "two.json", line(2))
            run.until(lambda: run.of(DiagnosticEvent))
            write_lines(shop, "three.json", line(3))
            run.until(lambda: len(rows_of(shop)) == 3)
            assert files(shop) == ["three.json", "two.json"]
        run.until(lambda: files(shop) == [])
        (warning,) = [event.diagnostic for event in run.of(DiagnosticEvent)]
    assert (warning.code, warning.severity, warning.location.path) == (
        "MS699",
        "warning",
        "models/others.yml",
    )
    assert (
        "source 'lake.orders' that were read are not removed: the files of source 'others.orders'"
        in warning.message
    )
    assert sorted(rows_of(shop)) == [1, 2, 3]
