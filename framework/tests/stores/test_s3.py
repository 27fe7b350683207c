"""Tables and checkpoints in S3: a real client of Hadoop, and delta-rs, which reads what Spark wrote."""

import json
import os
import subprocess
import time
import urllib.request
from xml.etree import ElementTree as ET

import pytest
from deltalake import DeltaTable
from support.commands import MILLSTREAM, Run
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
          kafka: {kafka}
          tables: {{store: delta, path: "s3a://shop/tables"}}
          checkpoints: "s3a://shop/checkpoints"
          spark:
            spark.hadoop.fs.s3a.endpoint: "{address}"
            spark.hadoop.fs.s3a.path.style.access: true
"""


@pytest.fixture
def address(tmp_path_factory):
    with s3_server(tmp_path_factory.mktemp("s3"), "shop") as url:
        yield url


def causes(root):
    """Return what Spark's log says of failures."""
    log = (root / ".millstream/production/log/spark.log").read_text().splitlines()
    return "\n".join(dict.fromkeys(line for line in log if line.startswith("Caused by")))


def test_a_query_goes_on_from_its_checkpoint_in_s3(tmp_path, broker, address):
    shop = Shop(tmp_path, broker)
    create_topics(broker, "events", partitions=1)
    shop.write("profiles.yml", PROFILES.format(address=address, kafka="embedded"))
    shop.model("totals", TOTALS)
    positions = {**LOGIN, "AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true"}

    def command(*arguments):
        done = subprocess.run(
            [*MILLSTREAM, *arguments],
            cwd=tmp_path,
            env=os.environ | positions,
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
    assert [result["rows_read"] for result in results["results"]] == [1]
    rows = [{"user": "a", "total": 11.0}, {"user": "b", "total": 2.0}]
    options = positions | {"AWS_S3_ALLOW_UNSAFE_RENAME": "true"}
    stored = DeltaTable("s3://shop/tables/totals", storage_options=options).to_pyarrow_table()
    assert sorted(stored.select(["user", "total"]).to_pylist(), key=lambda row: row["user"]) == rows
    message = command("query", "select user, total from totals order by user", "--output", "json")
    assert json.loads(message)["rows"] == rows
    assert not (tmp_path / ".millstream/production/checkpoints").exists()


def test_of_two_machines_one_runs_until_it_is_killed(tmp_path, broker, address, monkeypatch):
    """Two projects in folders of their own share nothing but S3 and Kafka, as on two machines."""
    for name, value in {**LOGIN, "AWS_ENDPOINT_URL": address, "AWS_ALLOW_HTTP": "true"}.items():
        monkeypatch.setenv(name, value)
    with_versions(address)
    create_topics(broker, "events", partitions=1)
    shops = [Shop(tmp_path / name, broker) for name in ("one", "two")]
    for shop in shops:
        shop.write(
            "profiles.yml", PROFILES.format(address=address, kafka=f'{{bootstrap_servers: "{broker}"}}')
        )
        shop.model("totals", TOTALS)
    shops[0].send(event(1, "a", 1.0))
    runs = [Run(shop.root) for shop in shops]
    try:
        deadline = time.monotonic() + 600
        while not (ended := [run for run in runs if run.process.poll() is not None]):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert [run.process.returncode for run in ended] == [2]
        message = "".join(iter(ended[0].lines.get, ""))
        assert "MS874" in message, message[-3000:]
        winner = runs[1 - runs.index(ended[0])]
        winner.until("batch")
        written, deleted = versions(address, "checkpoints/locks/")
        (lock,) = (key for key, count in written.items() if key not in deleted)
        assert written[lock] > 2
        next_one = Run(shops[runs.index(ended[0])].root, "--wait")
        runs.append(next_one)
        next_one.until("Spark")
        winner.kill(with_children=True)
        shops[0].send(event(2, "a", 10.0))
        next_one.until("batch")
        assert next_one.stop() == 0
    finally:
        for run in runs:
            if run.process.poll() is None:
                run.kill(with_children=True)
    options = {
        **LOGIN,
        "AWS_ENDPOINT_URL": address,
        "AWS_ALLOW_HTTP": "true",
        "AWS_S3_ALLOW_UNSAFE_RENAME": "true",
    }
    stored = DeltaTable("s3://shop/tables/totals", storage_options=options).to_pyarrow_table()
    assert stored.select(["user", "total"]).to_pylist() == [{"user": "a", "total": 11.0}]
    assert versions(address, "checkpoints/locks/")[0].keys() == versions(address, "checkpoints/locks/")[1]


def with_versions(address):
    """Let the server keep all versions, so that each deletion of a file can be seen afterwards."""
    body = b"<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
    request = urllib.request.Request(
        f"{address}/shop?versioning", data=body, method="PUT", headers={"Content-Type": "application/xml"}
    )
    urllib.request.urlopen(request, timeout=10).close()


def versions(address, prefix):
    """Return how often each file was written, and the files that were ever deleted."""
    with urllib.request.urlopen(f"{address}/shop?versions&prefix={prefix}", timeout=10) as answer:
        listing = ET.fromstring(answer.read())
    space = listing.tag.partition("}")[0] + "}"
    written = [version.findtext(f"{space}Key") for version in listing.iter(f"{space}Version")]
    deleted = {marker.findtext(f"{space}Key") for marker in listing.iter(f"{space}DeleteMarker")}
    # Hadoop's client also writes and deletes an object for each folder.
    return {key: written.count(key) for key in written if not key.endswith("/")}, {
        key for key in deleted if not key.endswith("/")
    }
