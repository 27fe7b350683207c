"""Files in S3 as sources, read by Hadoop's client and listed by Arrow's, from a server on loopback."""

import datetime as dt
import json
import os
import subprocess
import urllib.request

import duckdb
import pytest
from engine.test_source_of_files import AVRO, MODEL
from support.avro_files import write_avro
from support.commands import MILLSTREAM
from support.s3 import LOGIN, s3_server
from support.shops import Shop

pytestmark = pytest.mark.long

PROFILES = """
    shop:
      target: local
      outputs:
        local:
          master: local[2]
          kafka: embedded
          spark:
            spark.hadoop.fs.s3a.endpoint: "{address}"
            spark.hadoop.fs.s3a.path.style.access: true
"""
COLUMNS = "[{name: id, type: bigint}, {name: customer, type: string}, {name: amount, type: double}, {name: at, type: timestamp}]"
FORMATS = {
    "parquet": "path: s3a://shop/parquet/, format: parquet",
    "avro": "path: s3a://shop/avro, format: avro",
    "json": "path: 's3a://shop/json/day=*/*.json', format: json",
    "csv": "path: s3a://shop/csv, format: csv, format_options: {header: true}",
}
JSON = '{{"id": {}, "customer": "ann", "amount": 2.5, "at": "2026-01-01T12:00:00Z"}}\n'


@pytest.fixture
def address(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3"), "shop") as url:
        yield url


@pytest.fixture
def lake(tmp_path, broker, address):
    shop = Shop(tmp_path, broker)
    shop.write("profiles.yml", PROFILES.format(address=address))
    rows = "".join(
        f"      - {{name: {name}, {path}, columns: {COLUMNS}}}\n" for name, path in FORMATS.items()
    )
    (tmp_path / "models/lake.yml").write_text(f"sources:\n  - name: lake\n    files:\n{rows}")
    for name in FORMATS:
        shop.model(f"{name}_orders", MODEL.replace("doubled", "amount").replace("'orders'", f"'{name}'"))
    shop.address = address
    return shop


def put(shop, key, content):
    headers = {"Content-Type": "application/octet-stream"}  # by default, the server takes it for a form
    request = urllib.request.Request(f"{shop.address}/shop/{key}", content, headers, method="PUT")
    urllib.request.urlopen(request, timeout=10).close()


def command(shop, *arguments, code=0):
    done = subprocess.run(
        [*MILLSTREAM, *arguments],
        cwd=shop.root,
        env=os.environ | LOGIN,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def rows(shop, name):
    text = command(shop, "query", f"select id, file from {name}_orders order by id", "--output", "json")
    return [(row["id"], row["file"]) for row in json.loads(text)["rows"]]


def test_new_files_are_read_once_and_errors_name_them(lake, tmp_path):
    query = "select 1::bigint as id, 'ann' as customer, 2.5::double as amount, timestamptz '2026-01-01 12:00:00Z' as \"at\""
    duckdb.execute(f"copy ({query}) to '{tmp_path}/one.parquet' (format parquet)")
    put(lake, "parquet/one.parquet", (tmp_path / "one.parquet").read_bytes())
    time = dt.datetime(2026, 1, 1, 12, tzinfo=dt.timezone.utc)
    write_avro(tmp_path / "one.avro", AVRO, [{"id": 1, "customer": "ann", "amount": 2.5, "at": time}])
    put(lake, "avro/one.avro", (tmp_path / "one.avro").read_bytes())
    put(lake, "json/day=1/a%20file.json", JSON.format(1).encode())
    put(lake, "json/other.json", JSON.format(9).encode())
    put(lake, "json/day=1/_hidden.json", JSON.format(9).encode())
    put(lake, "csv/one.csv", b"id,customer,amount,at\n1,ann,2.5,2026-01-01T12:00:00Z\n")
    command(lake, "build")
    keys = {
        "parquet": "parquet/one.parquet",
        "avro": "avro/one.avro",
        "json": "json/day=1/a%20file.json",
        "csv": "csv/one.csv",
    }
    assert {name: rows(lake, name) for name in FORMATS} == {
        n: [(1, f"s3a://shop/{p}")] for n, p in keys.items()
    }
    put(lake, "json/day=2/two.json", JSON.format(2).encode())
    lags = json.loads(command(lake, "lag", "--output", "json"))["lag"]
    assert {lag["topic"]: lag["records"] for lag in lags} == {
        "lake.parquet": 0,
        "lake.avro": 0,
        "lake.json": 1,
        "lake.csv": 0,
    }
    command(lake, "build")
    assert [id_ for id_, _ in rows(lake, "json")] == [1, 2]
    put(lake, "json/day=2/bad.json", b"\n{\n")
    assert "bad record: file s3a://shop/json/day=2/bad.json, line 2: " in command(lake, "build", code=1)
    texts = [path.read_bytes() for path in (tmp_path / ".millstream/local/log").rglob("*") if path.is_file()]
    assert texts
    assert not any(LOGIN["AWS_SECRET_ACCESS_KEY"].encode() in text for text in texts)
