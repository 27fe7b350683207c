"""A run with more queries than its machine has cores is stopped."""

import time

import pytest
from deltalake import DeltaTable
from support.running import PATIENCE, running
from support.runs import table_rows
from support.shops import UNOPTIMIZED, event
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.values import QueryRunning, QueryStopped, SetupStep
from millstream.project.load import load_project
from millstream.stores.delta.folder import delta_folder

pytestmark = SPARK_WARNINGS

QUERIES = ("a", "b", "c", "d")
TOTALS = """
    {{{{ config(materialized='table', unique_key='user') }}}}
    select user, '{name}' as name, sum({value}) as total from {{{{ source('web', 'events') }}}} group by user
"""


def wait_until(so):
    end = time.monotonic() + PATIENCE
    while not so():
        assert time.monotonic() < end
        time.sleep(0.05)


def rows_of(shop, name):
    """Return the rows of a model's table, which does not exist before its query has started."""
    folder = delta_folder(load_project(shop.root, None, None, None).target, shop.root)
    path = folder.read(NodeId("model", name))
    return table_rows(shop.root, f"model.{name}") if DeltaTable.is_deltatable(path) else []


@pytest.mark.long
def test_batches_that_wait_for_a_core_are_left_to_the_next_run(shop, first_spark):
    """As many batches run as there are cores: the others would each wait for all before them."""
    begun, go_on = shop.root / "begun", shop.root / "go_on"
    shop.write("profiles.yml", UNOPTIMIZED)
    shop.write(
        "macros/slow.py",
        f"""
        import os, pathlib, time

        def slow(value: float) -> float:
            pathlib.Path({str(begun)!r}).touch()
            while not pathlib.Path({str(go_on)!r}).exists():
                time.sleep(0.05)
            return value
        """,
    )
    for name in QUERIES:
        shop.model(name, TOTALS.format(name=name, value="slow(value)"))
    shop.send(event(1))
    with running(shop.root, first_spark) as run:
        run.until(lambda: len(run.of(QueryRunning)) >= len(QUERIES) - 1)
        wait_until(begun.exists)
        run.stopping.set()
        run.until(lambda: any(setup.name == "stopping" for setup in run.of(SetupStep)))
        # What has no turn ends at once, although no batch has.
        run.until(lambda: len(run.of(QueryStopped)) >= len(QUERIES) - 2)
        started = len(run.of(QueryRunning))
        go_on.touch()
    assert len(run.of(QueryRunning)) == started
    assert sorted(stopped.query for stopped in run.of(QueryStopped)) == list(QUERIES)
    assert not [stopped.query for stopped in run.of(QueryStopped) if stopped.repeats]
    stored = {name for name in QUERIES if rows_of(shop, name)}
    assert 0 < len(stored) <= 2
    with running(shop.root, first_spark) as run:
        run.until(lambda: all(rows_of(shop, name) for name in QUERIES))
    assert [table_rows(shop.root, f"model.{name}")[0]["total"] for name in QUERIES] == [1.0] * len(QUERIES)
