"""`millstream query`."""

import os
import subprocess
import sys

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from millstream.project.folders import folder_name


@pytest.fixture
def built(shop):
    """Return the project with the table `totals` built, and a seed."""
    rows = pa.table({"user_id": ["ann", "bob"], "total": [3, None]})
    write_deltalake(shop / ".millstream/local/tables/totals", rows)
    (shop / "seeds").mkdir()
    (shop / "seeds/grades.csv").write_text("total,grade\n3,good\n", encoding="utf-8")
    return shop


def test_a_table_for_people(run, built):
    result = run("query", "select * from totals order by user_id")
    assert result.out == "user_id  total\n───────  ─────\nann          3\nbob       NULL\n"
    assert (result.code, result.err) == (0, "(2 rows)\n")


@pytest.mark.parametrize("target", ["größe", "a/b", "broker", "100%"])
def test_a_target_with_any_name(run, shop, target):
    (shop / "profiles.yml").write_text(
        f"shop:\n  target: local\n  outputs:\n    {target!r}: {{}}\n    local: {{}}\n"
    )
    rows = pa.table({"user_id": ["ann"], "total": [3]})
    write_deltalake(shop / ".millstream" / folder_name(target) / "tables/totals", rows)
    result = run("query", "select * from totals", "--target", target, "--output", "csv")
    assert (result.out, result.code) == ("user_id,total\nann,3\n", 0)


def test_a_folder_that_the_library_can_not_read(run, shop):
    (shop / "profiles.yml").write_text("shop: {outputs: {local: {tables: {path: 'a%20b'}}}, target: local}\n")
    write_deltalake(shop / "plain/totals", pa.table({"user_id": ["ann"]}))
    (shop / "plain").rename(shop / "a%20b")
    result = run("query", "select * from totals")
    assert "help: rename the folder that has '%20' in its name" in result.err


def test_json(run, built):
    result = run("query", "select * from totals order by user_id", "--output", "json", "--limit", "1")
    assert result.json == {
        "diagnostics": [],
        "columns": ["user_id", "total"],
        "rows": [{"user_id": "ann", "total": 3}],
        "more": True,
    }


def test_csv(run, built):
    assert (
        run("query", "select * from totals order by 1", "--output", "csv").out
        == "user_id,total\nann,3\nbob,\n"
    )


def test_people_see_a_hundred_rows_programs_all(run, built):
    sql = "select * from generate_series(1, 150) as t(n)"
    assert run("query", sql).err == "(100 rows; more rows exist, see --limit)\n"
    assert len(run("query", sql, "--output", "csv").out.splitlines()) == 151


def test_a_seed_and_a_table(run, built):
    result = run("query", "select user_id, grade from totals join grades using (total)", "--output", "csv")
    assert result.out == "user_id,grade\nann,good\n"


def test_a_table_that_is_not_built(run, shop):
    result = run("query", "select * from totals")
    assert result.code == 2
    assert "error[MS843]: the table 'totals' has not been built" in result.err
    assert "help: build it first: `millstream build --select +totals`" in result.err


def test_a_view(run, shop):
    assert "error[MS844]: 'stg_clicks' is a view" in run("query", "select * from stg_clicks").err


def test_a_mistake_as_json(run, built):
    (diagnostic,) = run("query", "select totl from totals", "--output", "json").json["diagnostics"]
    assert (diagnostic["code"], diagnostic["path"], diagnostic["column"]) == ("MS845", "query", 8)


def test_a_broken_model_does_not_hide_the_tables(run, built):
    (built / "models/broken.sql").write_text("select nope from {{ ref('stg_clicks') }}", encoding="utf-8")
    assert run("query", "select count(*) as n from totals", "--output", "csv").out == "n\n2\n"


def test_it_is_fast_and_starts_no_java(built):
    command = [sys.executable, "-X", "importtime", "-m", "millstream", "query", "select * from totals"]
    subprocess.run(command, check=True, capture_output=True)
    before = os.times()
    result = subprocess.run(command, check=True, capture_output=True, text=True)
    after = os.times()
    # CPU time, since tests run side by side.
    assert sum(after[2:4]) - sum(before[2:4]) < 1.5
    for heavy in ("pyspark", "pandas", "pyarrow", "psycopg", "sqlglot", "jinja2", "rich.console"):
        assert f" {heavy}\n" not in result.stderr


@pytest.mark.parametrize("sql", ["describe totals", "DESC `totals`;", "show columns from totals"])
def test_the_columns_of_a_table_also_before_it_is_built(run, shop, sql):
    result = run("query", sql, "--output", "json")
    assert result.json["rows"] == [
        {"column": "user_id", "type": "string"},
        {"column": "total", "type": "bigint"},
    ]


def test_the_tables_of_a_project(run, built):
    result = run("query", "show tables", "--output", "csv")
    assert result.out == "table,kind,columns\ngrades,seed,2\ntotals,table,2\n"
    assert "did you mean 'totals'?" in run("query", "describe totls").err
