"""A query that follows a table, and was stopped for longer than the table keeps its changes, says so."""

import os
import time
from pathlib import Path

import pytest
from support.runs import built, errors, statuses
from support.shops import PROFILES, TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import FullRefresh
from millstream.stores import file_sizes

pytestmark = SPARK_WARNINGS

FOLLOWER = """
    {{ config(materialized='sink', key='user') }}
    select user, total from {{ ref('totals') }}
"""
DAYS = 2 * 86_400


@pytest.mark.long
def test_changes_that_are_gone_stop_the_query(shop, first_spark, monkeypatch):
    monkeypatch.setattr(file_sizes, "EVERY", 1)
    shop.model("totals", TOTALS)
    shop.model("follower", FOLLOWER)
    shop.send(event(1))
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"totals": "success", "follower": "success"}
    only = frozenset({"model.totals"})
    for number in (2, 3):
        shop.send(event(number))
        built(shop.root, first_spark, models=only)
    for file in Path(shop.root).rglob("totals/**/*.parquet"):
        os.utime(file, (time.time() - DAYS, time.time() - DAYS))
    shop.send(event(4))
    results, _ = built(shop.root, first_spark, models=only)
    assert statuses(results) == {"totals": "success"}, "what removes the files of the day before yesterday"
    results, events = built(shop.root, first_spark)
    assert statuses(results)["follower"] == "error"
    (diagnostic,) = errors(events)
    assert (diagnostic.code, diagnostic.message) == (
        "MS864",
        "follower: changes of a table that it has not read yet no longer exist",
    )
    assert "`millstream build --full-refresh` removes the rows and state of the models" in diagnostic.help
    built(shop.root, first_spark, intent=FullRefresh())
    assert shop.values("follower")[-1] == {"user": "a", "total": 4.0}
    # The other one: files are kept for longer.
    shop.write("profiles.yml", PROFILES.replace("embedded,", "embedded, tables: {old_files: 7 days},"))
    for number in (5, 6):
        shop.send(event(number))
        built(shop.root, first_spark, models=only)
    for file in Path(shop.root).rglob("totals/**/*.parquet"):
        os.utime(file, (time.time() - DAYS, time.time() - DAYS))
    shop.send(event(7))
    built(shop.root, first_spark, models=only)
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert shop.values("follower")[-1] == {"user": "a", "total": 7.0}
