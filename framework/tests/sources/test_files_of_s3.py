"""Files in S3 that can't be listed are an error at their source, without the login."""

import pytest
from support.loading import load

from millstream.core.errors import MillstreamError
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
