"""Builds that compute a day of a table again, killed at any time: the day has its old rows or its new ones.

`MILLSTREAM_RANGE_KILLS=20 uv run pytest -m long framework/tests/crash/test_ranges_killed.py` kills more of them.
"""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import threading

import pytest
from deltalake import DeltaTable
from example.generated import ROOT
from support.commands import MILLSTREAM, succeed
from support.runs import create_topics
from support.time_ranges import sent_on

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

KILLS = int(os.environ.get("MILLSTREAM_RANGE_KILLS", "3"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
PROFILES = 'shop: {target: local, outputs: {local: {master: "local[2]", kafka: embedded}}}\n'
PER_DAY = 20_000
MODEL = """
    {{{{ config(materialized='table', partition_by='day') }}}}
    select id, value * {factor} as value, at, cast(at as date) as day from {{{{ source('web', 'events') }}}}
"""
OPTIONS = ("--select", "clean_orders", "--accept", "stored:clean_orders", "--output", "json")


def test_a_killed_range_has_its_old_rows_or_its_new_ones(durable_shop):
    shop, dice = durable_shop, random.Random(SEED)
    day = command_of_the_page()
    shop.write("profiles.yml", PROFILES)
    shop.model("clean_orders", MODEL.format(factor=1))
    create_topics(shop.bootstrap, "events")
    shop.send(*(sent_on(day, number) for day in (1, 2) for number in range(PER_DAY)))
    succeed(shop.root, "build")
    files = files_of(shop, "2026-01-02")
    old = 1
    for new in range(2, KILLS + 2):
        shop.model("clean_orders", MODEL.format(factor=new))
        kill_within(shop, day, dice.uniform(0, 6))
        sums = sums_of(shop)
        assert sums["2026-01-01"] in {total(old), total(new)}
        assert sums["2026-01-02"] == total(1)
        old = sums["2026-01-01"] // total(1)
    shown = subprocess.run(
        [*MILLSTREAM, "build", *day, *OPTIONS], cwd=shop.root, capture_output=True, text=True, check=True
    )
    (replaced,) = json.loads(shown.stdout)["replaced"]
    assert replaced == {
        "model": "model.clean_orders", "column": "at", "rows": PER_DAY, "before": PER_DAY,
        "from": "2026-01-01T00:00:00+00:00", "to": "2026-01-02T00:00:00+00:00",
    }  # fmt: skip
    assert sums_of(shop) == {"2026-01-01": total(KILLS + 1), "2026-01-02": total(1)}
    assert files_of(shop, "2026-01-02") == files


def command_of_the_page():
    """Return the options with which the page computes a day again."""
    page = (ROOT / "docs/lake.md").read_text()
    (options,) = re.findall(r"^millstream build --select clean_orders (--from .*)$", page, re.MULTILINE)
    return options.split()


def kill_within(shop, day, seconds):
    """Kill a build some time after it has begun to compute the range, unless it has ended."""
    process = subprocess.Popen(
        [*MILLSTREAM, "build", *day, *OPTIONS[:-2]],
        cwd=shop.root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    with process.stderr as lines:
        assert any("range of clean_orders" in line for line in lines)
        reading = threading.Thread(target=lines.read)  # a full pipe would hold it
        reading.start()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        reading.join()


def total(factor):
    return factor * sum(range(PER_DAY))


def folder(shop):
    return shop.root / ".millstream/local/tables/clean_orders"


def sums_of(shop):
    table = DeltaTable(str(folder(shop))).to_pyarrow_table().group_by("day").aggregate([("value", "sum")])
    return {str(row["day"]): row["value_sum"] for row in table.to_pylist()}


def files_of(shop, day):
    paths = DeltaTable(str(folder(shop))).get_add_actions(flatten=True)["path"].to_pylist()
    return {path: (folder(shop) / path).stat().st_mtime_ns for path in paths if day in path}
