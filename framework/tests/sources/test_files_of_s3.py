"""Files and tables in S3 that can't be read are an error at their source, without the login."""

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from support.loading import load
from support.s3 import LOGIN, s3_server

from millstream.core.errors import MillstreamError
from millstream.sources.delta.log import added_files, newest_version
from millstream.sources.files.positions import ends, folder_of, path_of

PROFILES = """
shop:
  target: local
  outputs:
    local: {kafka: embedded, spark: {spark.hadoop.fs.s3a.endpoint: "http://127.0.0.1:1"}}
"""
FILES = """
sources:
  - name: lake
    files:
      - {name: orders, path: "s3a://shop/day=*/*.txt", format: text, columns: [{name: line, type: string}]}
"""


def test_a_server_that_does_not_answer(tmp_path, monkeypatch):
    for name, value in {"ACCESS_KEY_ID": "shop", "SECRET_ACCESS_KEY": "swordfish", "REGION": "eu"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    project, errors = load(tmp_path, {"profiles.yml": PROFILES, "models/lake.yml": FILES})
    assert errors == []
    source = project.sources["lake.orders"]
    assert (source.jars, folder_of(source, project)) == (("s3",), ("s3a://shop", "day=*/*.txt"))
    with pytest.raises(MillstreamError) as raised:
        ends(source, project)
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.location.path) == ("MS699", "models/lake.yml")
    assert "127.0.0.1:1" in diagnostic.message
    assert "swordfish" not in str(diagnostic)


def test_positions_have_whole_addresses():
    assert path_of("s3a://shop/day%3D1/a%20b.txt") == "s3a://shop/day=1/a b.txt"
    assert path_of("file:///data/a%20b.txt") == "/data/a b.txt"


TABLES = """
sources:
  - name: lake
    delta_tables:
      - {name: orders, path: "s3a://shop/orders", columns: [{name: id, type: bigint}]}
"""


def test_a_delta_table_that_can_not_be_reached_or_is_not_there_yet(tmp_path, monkeypatch):
    for name, value in LOGIN.items():
        monkeypatch.setenv(name, value)
    project, errors = load(tmp_path, {"profiles.yml": PROFILES, "models/lake.yml": TABLES})
    assert errors == []
    source = project.sources["lake.orders"]
    assert source.jars == ("s3",)
    with pytest.raises(MillstreamError) as raised:
        newest_version(source, project)
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.code, diagnostic.location.path) == ("MS645", "models/lake.yml")
    assert diagnostic.help == ("check the credentials and the region of S3, or change the path of the source")
    with s3_server(tmp_path, "shop") as address:
        profiles = PROFILES.replace("http://127.0.0.1:1", address)
        project, errors = load(tmp_path, {"profiles.yml": profiles, "models/lake.yml": TABLES})
        assert errors == []
        with pytest.raises(MillstreamError) as raised:
            newest_version(source, project)
        (diagnostic,) = raised.value.diagnostics
        assert (
            diagnostic.message == "the Delta table of source 'lake.orders' does not exist: s3a://shop/orders"
        )
        assert diagnostic.help == "let its writer create it, or change the path of the source"
        options = {
            "AWS_ENDPOINT_URL": address,
            "AWS_ALLOW_HTTP": "true",
            "AWS_S3_ALLOW_UNSAFE_RENAME": "true",
        }
        for ids in ([1], [2, 3]):
            rows = pa.table({"id": pa.array(ids, pa.int64())})
            write_deltalake("s3://shop/orders", rows, mode="append", storage_options=options)
        assert newest_version(source, project)[1] == 1
        assert [len(added.names) for added in added_files(source, project, 1, 2)] == [1]
