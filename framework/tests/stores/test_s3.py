"""Tables and checkpoints in S3: a real client of Hadoop, and delta-rs, which reads what Spark wrote."""

import json
import os
import subprocess

import pytest
from deltalake import DeltaTable
from support.commands import MILLSTREAM
from support.runs import create_topics
from support.s3 import LOGIN, s3_server
from support.shops import TOTALS, Shop, event

pytestmark = pytest.mark.long

PROFILES = """
    shop:
      target: production
      outputs:
        production:
          master: local[2]
          kafka: embedded
          tables: {{store: delta, path: "s3a://shop/tables"}}
          checkpoints: "s3a://shop/checkpoints"
          spark:
            spark.hadoop.fs.s3a.endpoint: "{address}"
            spark.hadoop.fs.s3a.path.style.access: true
"""


@pytest.fixture
def address(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3"), "shop") as found:
        yield found


def causes(root):
    """Return what Spark's log says of failures."""
    log = (root / ".millstream/production/log/spark.log").read_text().splitlines()
    return "\n".join(dict.fromkeys(line for line in log if line.startswith("Caused by")))


def test_a_query_goes_on_from_its_checkpoint_in_s3(tmp_path, broker, address):
    shop = Shop(tmp_path, broker)
    create_topics(broker, "events", partitions=1)
    shop.write("profiles.yml", PROFILES.format(address=address))
    shop.model("totals", TOTALS)
    places = {**LOGIN, "AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true"}

    def command(*arguments):
        done = subprocess.run(
            [*MILLSTREAM, *arguments],
            cwd=tmp_path,
            env=os.environ | places,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr + causes(tmp_path)
        return done.stdout

    shop.send(event(1, "a", 1.0), event(2, "b", 2.0))
    command("build")
    shop.send(event(3, "a", 10.0))
    command("build")
    results = json.loads((tmp_path / "target/run_results.json").read_text())
    assert [each["rows_read"] for each in results["results"]] == [1]
    rows = [{"user": "a", "total": 11.0}, {"user": "b", "total": 2.0}]
    options = places | {"AWS_S3_ALLOW_UNSAFE_RENAME": "true"}
    stored = DeltaTable("s3://shop/tables/totals", storage_options=options).to_pyarrow_table()
    assert sorted(stored.select(["user", "total"]).to_pylist(), key=lambda each: each["user"]) == rows
    said = command("query", "select user, total from totals order by user", "--output", "json")
    assert json.loads(said)["rows"] == rows
    assert not (tmp_path / ".millstream/production/checkpoints").exists()
