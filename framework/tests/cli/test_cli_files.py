"""Folders of files as sources, without Spark."""

import json

import pytest

from millstream.sources.files.positions import FilesPosition, from_log, times_in_log
from millstream.sources.positions import SourceLog
from millstream.stores.files import LocalFiles

LAKE = """
sources:
  - name: lake
    files:
      - name: orders
        path: data/*.csv
        format: csv
        format_options: {header: true}
        on_bad_record: skip
        max_files: 10
        tests: [freshness: {within: 1 hour}]
        columns: [{name: id, type: bigint}, {name: twice, from: id * 2}]
"""


@pytest.fixture
def lake(shop):
    (shop / "models/lake.yml").write_text(LAKE)
    (shop / "models/ids.sql").write_text(
        "{{ config(materialized='table', unique_key='id') }}\n"
        "select id, twice, _file as file, _modified as at from {{ source('lake', 'orders') }}"
    )
    return shop


def test_it_compiles_and_is_listed_explained_and_documented(lake, run):
    assert run("compile").code == 0
    assert "source:shop.lake.orders" in run("ls").out.splitlines()
    assert "files source.lake.orders" in run("explain", "ids").out
    assert "source.lake.orders._file" in run("lineage", "ids.file").out
    assert run("docs", "generate").code == 0
    manifest = json.loads((lake / "target/manifest.json").read_text())
    (fresh,) = (node for id_, node in manifest["nodes"].items() if id_.startswith("test.freshness"))
    assert fresh["meta"]["arguments"]["column"] == "_modified"


@pytest.mark.parametrize(
    ("wrong", "right", "message"),
    [
        (
            "path: data/*.csv",
            "path: s3://bucket/orders",
            "'s3://bucket/orders' is not on this machine, nor in S3",
        ),
        ("path: data/*.csv", "path: data/**/x.csv", "'data/**/x.csv' is not a folder or a pattern"),
        ("path: data/*.csv", "path: 'data/{a,b}'", "'data/{a,b}' is not a folder or a pattern"),
        ("format: csv", "format: xml", "parquet"),
        ("header: true", "headers: true", "format 'csv' has no option 'headers'"),
        (
            "format: csv",
            "format: parquet",
            "'format_options' is for files of lines, and the format is parquet",
        ),
        ("format: csv", "format: parquet", "'on_bad_record' is for files of lines"),
        ("on_bad_record: skip", "on_bad_record: ignore", "on_bad_record"),
        ("csv\n        format_options: {header: true}", "text", "column 'id' is a line of a text"),
        ("max_files: 10", "max_files: 0", "max_files"),
        (
            "path: data/*.csv",
            "path: s3a://bucket/orders\n        clean_up: delete",
            "files in S3 are not deleted or archived",
        ),
        ("max_files: 10", "clean_up: archive", "name the folder to which they are moved"),
        ("max_files: 10", "archive_path: data/read", "add clean_up: archive, or remove it"),
        ("max_files: 10", "clean_up_after: 1 day", "add clean_up: delete, or remove it"),
        (
            "max_files: 10",
            "clean_up: archive\n        archive_path: data",
            "name a folder outside of the path",
        ),
        ("max_files: 10", "clean_up: archive\n        archive_path: d/*", "name one without * and ?"),
        ("{name: id, type: bigint}", "{name: id}", "column 'id' has no type"),
    ],
)
def test_mistakes_are_reported_at_their_keys(lake, run, wrong, right, message):
    assert wrong in LAKE
    (lake / "models/lake.yml").write_text(LAKE.replace(wrong, right))
    result = run("compile")
    assert result.code != 0
    assert message in result.err
    assert "models/lake.yml:" in result.err


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("clean_up: archive", "clean_up: archive\n        archive_path: read"),
        ("archive_path: read", "clean_up: archive\n        archive_path: read"),
        ("clean_up_after: 1 day", "clean_up: delete\n        clean_up_after: 1 day"),
        (
            "clean_up: archive\n        archive_path: data/read",
            "clean_up: archive\n        archive_path: read",
        ),
        ("clean_up: archive\n        archive_path: r/*", "clean_up: archive\n        archive_path: r"),
    ],
)
def test_remedies_of_files_that_are_removed(lake, run, wrong, right):
    for keys, code in ((wrong, 2), (right, 0)):
        (lake / "models/lake.yml").write_text(LAKE.replace("max_files: 10", keys))
        assert run("compile").code == code


def test_types_that_avro_lacks(lake, run):
    files = LAKE.replace("csv\n        format_options: {header: true}\n        on_bad_record: skip", "avro")
    (lake / "models/lake.yml").write_text(files.replace("type: bigint", "type: array<smallint>"))
    result = run("compile")
    assert result.code != 0
    assert "Avro has no smallint: a value of 'id' might not fit" in result.err
    assert "declare int, and cast it in a model" in result.err
    (lake / "models/lake.yml").write_text(files.replace("type: bigint", "type: int"))
    assert run("compile").code == 0


def test_positions_are_read_from_the_log_of_spark(tmp_path):
    def write(name, *files):
        entry = {"timestamp": 1796000000000, "batchId": 0}
        entries = [json.dumps({"path": f"file:///data/{file}", **entry}) for file in files]
        (tmp_path / name).write_text("\n".join(["v1", *entries]))

    for number, file in enumerate(("a%20b.csv", "c.csv", "d.csv", "e.csv")):
        write(str(number), file)
    write("1.compact", "a%20b.csv", "c.csv")
    (tmp_path / ".3.crc").write_text("")
    log = SourceLog(LocalFiles(), str(tmp_path))
    assert from_log({"logOffset": 0}, log).stored() == ["/data/a b.csv"]
    (tmp_path / "0").unlink()
    position = from_log({"logOffset": 2}, log)
    assert times_in_log({"logOffset": 2}, log)["/data/c.csv"] == 1796000000000
    assert position.stored() == ["/data/a b.csv", "/data/c.csv", "/data/d.csv"]
    start = FilesPosition(frozenset(["/data/a b.csv"]))
    assert list(position.texts("lake.orders", start)) == [
        "lake.orders, file c.csv",
        "lake.orders, file d.csv",
    ]
