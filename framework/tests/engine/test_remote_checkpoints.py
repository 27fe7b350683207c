"""Checkpoints that only Spark's file system can read, here Hadoop's `viewfs`."""

import os
import socket
from datetime import datetime, timezone

import msgspec
import pytest
from support.runs import built, errors, table_rows
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.deploy.planning.intents import Apply
from millstream.engine.spark.query_locks import Heartbeat
from millstream.engine.spark.target_lock import checkpoints_lock
from millstream.local.holders import LockHolder
from millstream.stores.hadoop_files import HadoopFiles

pytestmark = SPARK_WARNINGS

PROFILES = """
    shop: {target: local, outputs: {local: {master: "local[2]", kafka: embedded,
           checkpoints: "viewfs://remote/checkpoints"}}}
"""
TOTALS = """
    {{{{ config(materialized='table', unique_key='user') }}}}
    select user, {measure} as total from {{{{ source('web', 'events') }}}} group by user
"""


@pytest.fixture
def remote(first_spark, tmp_path):
    settings = first_spark._jsc.hadoopConfiguration()
    folder = tmp_path / "far"
    folder.mkdir()
    settings.set("fs.viewfs.mounttable.remote.link./checkpoints", folder.as_uri())
    settings.set("fs.viewfs.impl.disable.cache", "true")
    yield folder
    settings.unset("fs.viewfs.mounttable.remote.link./checkpoints")


def test_files_are_written_read_listed_and_removed(first_spark, remote):
    files, folder = HadoopFiles(first_spark), "viewfs://remote/checkpoints/one"
    assert (files.read(f"{folder}/a"), files.names(folder)) == (None, [])
    files.write(f"{folder}/a", b"\x00\xff")
    assert (files.read(f"{folder}/a"), files.names(folder)) == (b"\x00\xff", ["a"])
    files.write(f"{folder}/b/c", b"1")
    files.copy(folder, "viewfs://remote/checkpoints/more/two")
    assert (remote / "more/two/b/c").read_bytes() == b"1"
    files.copy(f"{folder}/none", f"{folder}/nothing")
    assert sorted(files.names(folder)) == ["a", "b"]
    files.remove(folder)
    assert not (remote / "one").exists()


@pytest.mark.long
def test_a_group_goes_on_though_its_lock_is_known_only_when_spark_is_there(shop, first_spark, remote):
    shop.write("profiles.yml", PROFILES)
    shop.model("totals", TOTALS.format(measure="sum(value)"))
    shop.send(("a", {"id": 1, "value": 1.0}))
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert (remote / "groups.lock").is_file()
    # Rebuilt, both would be one group, and begin at the start.
    shop.model("counts", TOTALS.format(measure="count(value)"))
    shop.send(("a", {"id": 2, "value": 2.0}))
    results, events = built(shop.root, first_spark)
    assert errors(events) == []
    read = {result.id: (result.query, result.rows_read) for result in results.results}
    assert read == {"model.totals": ("totals", 1), "model.counts": ("counts", 2)}
    assert [row["total"] for row in table_rows(shop.root, "model.totals")] == [3.0]
    assert [row["total"] for row in table_rows(shop.root, "model.counts")] == [2]


@pytest.mark.long
def test_a_model_leaves_the_query_that_it_shares(shop, first_spark, remote):
    shop.write("profiles.yml", PROFILES)
    shop.model("totals", TOTALS.format(measure="sum(value)"))
    shop.model("counts", TOTALS.format(measure="count(value)"))
    shop.send(("a", {"id": 1, "value": 1.0}), ("a", {"id": 2, "value": 2.0}))
    built(shop.root, first_spark)
    shop.model("totals", TOTALS.format(measure="max(value)"))
    results, events = built(shop.root, first_spark, intent=Apply())
    assert errors(events) == []
    assert {result.id: result.rows_read for result in results.results} == {
        "model.totals": 2,
        "model.counts": 0,
    }
    shop.send(("a", {"id": 3, "value": 3.0}))
    built(shop.root, first_spark)
    assert [row["total"] for row in table_rows(shop.root, "model.totals")] == [3.0]
    assert [row["total"] for row in table_rows(shop.root, "model.counts")] == [3]


def test_a_new_sink_gets_what_was_there_before(shop, first_spark, remote):
    shop.write("profiles.yml", PROFILES)
    sink = "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}"
    shop.model("one", sink)
    shop.send(("a", {"id": 1}))
    built(shop.root, first_spark)
    shop.model("two", sink)
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert shop.values("two") == [{"id": 1}]


def test_a_file_is_replaced_as_a_whole(first_spark, remote):
    files, path = HadoopFiles(first_spark), "viewfs://remote/checkpoints/one/a"
    files.write(path, b"before")
    files.write(path, b"after")
    assert files.read(path) == b"after"
    assert [file.name for file in (remote / "one").iterdir() if not file.name.startswith(".")] == ["a"]


@pytest.mark.long
def test_two_machines_exclude_each_other(first_spark, remote):
    files, folder = HadoopFiles(first_spark), "viewfs://remote/checkpoints"
    with (
        checkpoints_lock(folder, files, "production"),
        pytest.raises(MillstreamError, match="MS874") as refused,
        checkpoints_lock(folder, files, "production"),
    ):
        pass
    assert f"(process {os.getpid()}, since" in str(refused.value)
    assert f" on {socket.gethostname()} is using" in str(refused.value)
    assert files.names(f"{folder}/locks") == []


@pytest.mark.long
def test_who_was_killed_excludes_nobody(first_spark, remote):
    files, folder = HadoopFiles(first_spark), "viewfs://remote/checkpoints"
    killed = Heartbeat("x", "far", LockHolder("millstream run", 1, datetime.now(timezone.utc)), alone=True)
    files.write(f"{folder}/locks/x.json", msgspec.json.encode(killed))
    with checkpoints_lock(folder, files, "production"):
        assert "x.json" not in files.names(f"{folder}/locks")
