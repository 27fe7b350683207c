"""An append-only table of a model that leaves its query, and returns: each row is stored once."""

import os
import signal
import subprocess
import sys
from inspect import cleandoc
from pathlib import Path

import pytest
from engine.test_backfill import KILLED
from support.runs import built, errors, statuses, table_rows
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Update
from millstream.queries.verdict import AcceptedModels

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

OTHER = "{{ config(materialized='table', unique_key='id') }} select id from {{ source('web', 'events') }}"
RAW = "{{ config(materialized='table') }} select id, value from {{ source('web', 'events') }}"


def ids(shop):
    return sorted(row["id"] for row in table_rows(shop.root, "model.raw"))


def test_it_goes_on_where_it_left_or_is_refused(shop, first_spark):
    shop.model("other", OTHER)
    shop.model("raw", RAW)
    shop.send(event(1), event(2))
    built(shop.root, first_spark)
    assert ids(shop) == [1, 2]
    (shop.root / "models/raw.sql").unlink()
    shop.send(event(3))
    built(shop.root, first_spark)
    shop.model("raw", RAW)
    shop.send(event(4))
    results, events = built(shop.root, first_spark)
    assert (set(statuses(results).values()), errors(events)) == ({"success"}, [])
    assert ids(shop) == [1, 2, 3, 4]

    # With other SQL, what it has would be stored a second time, differently.
    (shop.root / "models/raw.sql").unlink()
    built(shop.root, first_spark)
    shop.model("raw", RAW.replace("value from", "value * 2 as value from"))
    for _ in range(2):
        results, events = built(shop.root, first_spark)
        assert statuses(results) == {"other": "success", "raw": "error"}
        assert ids(shop) == [1, 2, 3, 4]
    # The former SQL is an edit of what was refused, whose rows are those that are stored.
    shop.model("raw", RAW)
    accepted = AcceptedModels(stored=frozenset({NodeId("model", "raw")}))
    results, events = built(shop.root, first_spark, intent=Update(accepted=accepted))
    assert (set(statuses(results).values()), errors(events)) == ({"success"}, [])
    assert ids(shop) == [1, 2, 3, 4]


@pytest.mark.parametrize("before", [None, RAW])
def test_a_backfill_that_is_killed_stores_its_rows_once(shop, first_spark, before):
    shop.model("other", OTHER)
    if before is not None:
        shop.model("kinds", RAW)
    shop.send(event(1), event(2))
    built(shop.root, first_spark)
    if before is not None:
        (shop.root / "models/kinds.sql").unlink()
        shop.send(event(3))
        built(shop.root, first_spark)
    shop.model("kinds", RAW)
    shop.send(event(4))
    tests = str(Path(__file__).parents[1])
    ended = subprocess.run(
        [sys.executable, "-c", cleandoc(KILLED), str(shop.root)], env={**os.environ, "PYTHONPATH": tests}, check=False,
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL
    read_before = [1, 2] if before is None else [1, 2, 3]
    assert sorted(row["id"] for row in table_rows(shop.root, "model.kinds")) == read_before
    results, events = built(shop.root, first_spark)
    assert (set(statuses(results).values()), errors(events)) == ({"success"}, [])
    assert sorted(row["id"] for row in table_rows(shop.root, "model.kinds")) == [*read_before, 4]
