"""Tables in Delta, Iceberg and Parquet, read by DuckDB's own extensions: they share no code with what wrote the tables."""

import json
import subprocess

import pytest
from support.runs import built, errors
from support.shops import PROFILES, TOTALS, event, minute
from support.spark import SPARK_WARNINGS

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

STORES = ("delta", "iceberg", "parquet")
EVENTS = "{{ source('web', 'events') }}"
# DuckDB downloads its extensions from a server of its own; these are the same files as Python packages.
EXTENSIONS = ("avro", "delta", "iceberg")
VERSION = "1.5.5"
READ = """
import importlib, json, pathlib, sys
import duckdb

connection = duckdb.connect(config={"allow_unsigned_extensions": True})
for name in ("avro", "delta", "iceberg"):
    folder = pathlib.Path(importlib.import_module(f"duckdb_extension_{name}").__file__).parent
    (extension,) = folder.rglob("*.duckdb_extension")
    connection.execute(f"load '{extension}'")
json.dump([connection.sql(query).fetchall() for query in json.load(sys.stdin)], sys.stdout, default=str)
"""


def rows_in_duckdb(root, *queries):
    """Return the rows of each query, read by DuckDB in an environment of its own."""
    packages = [f"duckdb=={VERSION}", *(f"duckdb-extension-{name}=={VERSION}" for name in EXTENSIONS)]
    command = [
        "uv",
        "run",
        "--no-project",
        "--quiet",
        *(part for name in packages for part in ("--with", name)),
    ]
    reader = subprocess.run(
        [*command, "python", "-c", READ],
        check=False,
        input=json.dumps(queries),
        capture_output=True,
        text=True,
        cwd=root,
    )
    assert not reader.stderr
    return json.loads(reader.stdout)


def test_duckdb_reads_each_table_as_the_page_says(shop, first_spark):
    shop.write(
        "profiles.yml",
        PROFILES.replace(
            "kafka: embedded", "kafka: embedded, tables: {iceberg_path: lake, parquet_path: files}"
        ),
    )
    columns = f"select id, user, value, cast(at as date) as day from {EVENTS}"
    for store in STORES:
        options = f"materialized='table', store='{store}', partition_by='day'"
        shop.model(f"raw_{store}", f"{{{{ config({options}) }}}} {columns}")
    shop.model(
        "computed_iceberg",
        "{{ config(materialized='table', store='iceberg', partition_by=['day(at)', 'bucket(4, id)']) }} "
        f"{columns.replace('cast(at as date) as day', 'at')}",
    )
    for store in STORES[:2]:
        shop.model(f"totals_{store}", TOTALS.replace("'table'", f"'table', store='{store}'"))
    for batch in (
        (minute(1), minute(2), event(2, user="b", value=4.0)),
        (minute(1), event(3, user="b", value=None)),
    ):
        shop.send(*batch)
        assert errors(built(shop.root, first_spark)[1]) == []
    day, clock = "2026-01-01", "2026-01-01 00:0{}:00+00"
    raw = [
        [1, "a", 1.0, day],
        [1, "a", 1.0, day],
        [2, "a", 1.0, day],
        [2, "b", 4.0, None],
        [3, "b", None, None],
    ]
    with_time = [[*row[:3], row[3] and clock.format(row[0])] for row in raw]
    totals = [["a", 3.0], ["b", 4.0]]
    delta, parquet = (
        ".millstream/local/tables",
        "read_parquet('files/raw_parquet/**/*.parquet', hive_partitioning = true)",
    )
    expected = {
        f"select id, user, value, day from delta_scan('{delta}/raw_delta') order by all": raw,
        "select id, user, value, day from iceberg_scan('lake/raw_iceberg') order by all": raw,
        f"select id, user, value, day from {parquet} order by all": raw,
        "select id, user, value, \"at\"::text from iceberg_scan('lake/computed_iceberg') order by all": with_time,
        "select count(*) from iceberg_scan('lake/computed_iceberg') where \"at\" >= timestamptz '2026-01-01 00:02:00+00'": [
            [1]
        ],
        f"select \"user\", total from delta_scan('{delta}/totals_delta') order by all": totals,
        "select \"user\", total from iceberg_scan('lake/totals_iceberg') order by all": totals,
    }
    assert rows_in_duckdb(shop.root, *expected) == list(expected.values())
