"""Folders of files as sources; another program writes the files."""

import datetime as dt
import gzip

import duckdb
import pytest
from support.avro_files import write_avro
from support.runs import built, errors, job_of, table_rows
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import FullRefresh
from millstream.deploy.values import DiagnosticEvent
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.ops.lag import topic_lags
from millstream.project.folders import checkpoints_of
from millstream.runner.commands.up_to_date import results_if_up_to_date
from millstream.runner.samples.compute import SampleRequest, source_rows

pytestmark = SPARK_WARNINGS

LAKE = """
sources:
  - name: lake
    files:
      - name: orders
        path: data/orders
        format: FORMAT
        columns:
          - {name: id, type: bigint}
          - {name: customer, type: string}
          - {name: amount, type: double}
          - {name: at, type: timestamp}
          - {name: doubled, from: amount * 2}
"""
MODEL = """
    {{ config(materialized='table', unique_key='id') }}
    select id, customer, doubled, at, _file as file from {{ source('lake', 'orders') }}
"""
COUNTS = """
    {{ config(materialized='table', unique_key='file') }}
    select _file as file, count(*) as orders from {{ source('lake', 'orders') }} group by _file
"""
FORMATS = {
    "parquet": ("parquet", "format parquet"),
    "avro": ("avro", "format avro"),
    "json": ("json", "format json, timestampformat '%Y-%m-%dT%H:%M:%SZ'"),
    "csv": (
        "csv\n        format_options: {header: true}",
        "format csv, header, timestampformat '%Y-%m-%dT%H:%M:%SZ'",
    ),
}

AVRO = {
    "id": "long",
    "customer": "string",
    "amount": ["null", "double"],
    "at": {"type": "long", "logicalType": "timestamp-micros"},
}


def write_file(shop, name, *rows, options="format json", folder="data/orders"):
    """Write rows as DuckDB does."""
    folder = shop.root / folder
    folder.mkdir(parents=True, exist_ok=True)
    if "avro" in options:
        times = {id_: dt.datetime(2026, 1, id_, 12, tzinfo=dt.timezone.utc) for id_, _, _ in rows}
        written = [{"id": n, "customer": name, "amount": price, "at": times[n]} for n, name, price in rows]
        write_avro(folder / name, AVRO, written)
        return
    values = ", ".join(
        f"({id_}, '{customer}', {amount}::double, timestamp '2026-01-0{id_} 12:00:00')"
        for id_, customer, amount in rows
    )
    query = f'select * from (values {values}) as orders(id, customer, amount, "at")'
    if "parquet" in options:
        query = query.replace("*", '* replace ("at"::timestamptz as "at")')
    duckdb.execute("set timezone = 'UTC'")
    duckdb.execute(f"copy ({query}) to '{shop.root / name}' ({options})")
    (shop.root / name).rename(folder / name)


def write_lines(shop, name, *lines):
    folder = shop.root / "data/orders"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(f"{line}\n" for line in lines))


def rows_of(shop, model="orders"):
    return {row["id"]: row for row in table_rows(shop.root, f"model.{model}")}


def lag(shop):
    job = job_of(shop.root)
    checkpoints = checkpoints_of(job.project.target, shop.root)
    admin = admin_of(Cluster(shop.bootstrap, embedded=True))
    lags = topic_lags(admin, job.project, job.physical.queries, checkpoints)
    return [(lag.topic, lag.records, lag.unit) for lag in lags]


def failure(shop, spark, **options):
    _, events = built(shop.root, spark, **options)
    (diagnostic,) = errors(events)
    return diagnostic


@pytest.mark.parametrize(
    "format_",
    [
        "parquet",
        "csv",
        pytest.param("json", marks=pytest.mark.long),
        pytest.param("avro", marks=pytest.mark.long),
    ],
)
def test_builds_read_new_files_and_a_full_refresh_all(shop, first_spark, format_):
    declared, options = FORMATS[format_]
    headers = 1 if format_ == "csv" else 0  # lines are counted as Spark reads them
    shop.write("models/lake.yml", LAKE.replace("FORMAT", declared))
    shop.model("orders", MODEL)
    write_file(shop, f"one.{format_}", (1, "ann", 2.5), (2, "bob", 4.0), options=options)
    assert lag(shop) == [("lake.orders", 1, "files")]
    results, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert [result.rows_read for result in results.results] == [2 + headers]
    rows = rows_of(shop)
    assert {id_: (row["customer"], row["doubled"]) for id_, row in rows.items()} == {
        1: ("ann", 5.0),
        2: ("bob", 8.0),
    }
    assert rows[1]["at"].isoformat() == "2026-01-01T12:00:00+00:00"
    assert rows[1]["file"] == f"file:{shop.root}/data/orders/one.{format_}"
    assert results_if_up_to_date(job_of(shop.root), shop.root / ".millstream") is not None
    write_file(shop, f"two.{format_}", (3, "ann", 1.0), options=options, folder="data/orders/day=1/more")
    assert lag(shop) == [("lake.orders", 1, "files")]
    results, _ = built(shop.root, first_spark)
    assert [result.rows_read for result in results.results] == [1 + headers]
    assert lag(shop) == [("lake.orders", 0, "files")]
    # What joins the query gets the files that it has read.
    shop.model("more", MODEL)
    _, events = built(shop.root, first_spark)
    assert [event.diagnostic for event in events if isinstance(event, DiagnosticEvent)] == []
    assert sorted(rows_of(shop, "more")) == [1, 2, 3]
    # A deleted file's rows stay until a rebuild; a rewritten file is not read again.
    (shop.root / f"data/orders/one.{format_}").unlink()
    write_file(shop, f"two.{format_}", (4, "eve", 1.0), options=options, folder="data/orders/day=1/more")
    _, events = built(shop.root, first_spark)
    assert (errors(events), sorted(rows_of(shop))) == ([], [1, 2, 3])
    built(shop.root, first_spark, intent=FullRefresh())
    assert sorted(rows_of(shop)) == [4]


def test_a_bad_line_fails_with_its_place_or_is_skipped(shop, first_spark):
    shop.write("models/lake.yml", LAKE.replace("FORMAT", "json"))
    shop.model("orders", MODEL)
    good = '{"id": 1, "customer": "ann", "amount": 2.5, "at": "2026-01-01T12:00:00Z"}'
    write_lines(shop, "a file.json", good, "", good.replace("2.5", '"much"'), good.replace("1", "2", 1))
    diagnostic = failure(shop, first_spark)
    assert diagnostic.code == "MS862"
    position = f"bad record: file {shop.root}/data/orders/a file.json, line 3: "
    assert position in diagnostic.message
    assert "field amount" in diagnostic.message
    # A fixed file is read when the build goes on.
    write_lines(shop, "a file.json", good, good.replace("1", "2", 1))
    _, events = built(shop.root, first_spark)
    assert (errors(events), sorted(rows_of(shop))) == ([], [1, 2])
    shop.write("models/lake.yml", LAKE.replace("FORMAT", "json\n        on_bad_record: skip"))
    write_lines(shop, "more.json", "{", good.replace("1", "3", 1), '{"id": "x"}')
    results, events = built(shop.root, first_spark)
    assert (errors(events), sorted(rows_of(shop))) == ([], [1, 2, 3])
    assert [result.skipped for result in results.results] == [{"source.lake.orders": 2}]


@pytest.mark.parametrize(
    ("header", "line", "reason"),
    [
        ("id,customer,at", "1,ann,2026-01-01T12:00:00Z", "line 1: the header has no column 'amount'"),
        ("id,customer,amount,at", "1,ann,x,2026-01-01T12:00:00Z", "line 2: field amount: "),
        ("id,customer,amount,at", "1,ann", "line 2: the line has 2 fields instead of 4"),
    ],
)
def test_lines_of_csv(shop, first_spark, header, line, reason):
    """A line is checked whichever of its columns are read."""
    shop.write("models/lake.yml", LAKE.replace("FORMAT", FORMATS["csv"][0]))
    shop.model("orders", COUNTS)
    write_lines(shop, "one.csv", header, line)
    diagnostic = failure(shop, first_spark)
    assert (diagnostic.code, reason in diagnostic.message) == ("MS862", True), diagnostic.message


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select 1::bigint as id, 'ann' as customer, 1::double as amount", "it has no column 'at'"),
        (
            "select 1::bigint as id, 'ann' as customer, 'x' as amount, now() as \"at\"",
            "column amount is BINARY, which can't be read as double",
        ),
        (
            "select null::bigint as id, 'ann' as customer, 1::double as amount, now() as \"at\"",
            "column id: a value is missing",
        ),
    ],
)
def test_parquet_files_with_other_columns(shop, first_spark, query, reason):
    lake = LAKE.replace("FORMAT", "parquet").replace("type: bigint", "type: bigint, nullable: false")
    shop.write("models/lake.yml", lake)
    shop.model("orders", MODEL)
    (shop.root / "data/orders").mkdir(parents=True)
    duckdb.execute(f"copy ({query}) to '{shop.root}/data/orders/one.parquet' (format parquet)")
    diagnostic = failure(shop, first_spark)
    assert (diagnostic.code, reason in diagnostic.message) == ("MS699", True), diagnostic.message
    assert "one.parquet" in diagnostic.message


def test_texts_by_a_pattern_some_at_a_time(shop, first_spark):
    shop.write("models/lake.yml", """
sources:
  - name: lake
    files:
      - name: logs
        path: data/orders/*.log*
        format: text
        max_files: 1
        columns: [{name: line, type: string}, {name: level, from: "split_part(line, ' ', 1)"}]
    """)  # fmt: skip
    shop.model("logs", """
        {{ config(materialized='table', unique_key='line') }}
        select line, level from {{ source('lake', 'logs') }}
    """)  # fmt: skip
    write_lines(shop, "one.log", "INFO a", "WARN b")
    write_lines(shop, "other.txt", "INFO not this one")
    (shop.root / "data/orders/two.log.gz").write_bytes(gzip.compress(b"INFO c\n"))
    rows = source_rows(
        SampleRequest(
            job_of(shop.root).project,
            job_of(shop.root).catalog,
            NodeId("source", "lake.logs"),
            10,
            100,
            "spark.log",
        ),
        first_spark,
    )
    assert sorted(rows.rows) == [("INFO a",), ("INFO c",), ("WARN b",)]
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert {(row["line"], row["level"]) for row in table_rows(shop.root, "model.logs")} == {
        ("INFO a", "INFO"),
        ("WARN b", "WARN"),
        ("INFO c", "INFO"),
    }
