"""Two runs share a target, and are killed again and again; the platform starts them again: nothing is lost.

`MILLSTREAM_TAKEOVERS=50 uv run pytest -m long -s framework/tests/crash/test_shared_runs_killed.py` is a longer run.
It prints the time from each kill to the first batch with new rows.
"""

import os
import random
import time

import pytest
from crash.test_crash import PER_ROUND, SEED, Traffic, check
from crash.test_crash import shop as shop  # noqa: PLC0414 -- a fixture
from support.commands import Run, succeed

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

TAKEOVERS = int(os.environ.get("MILLSTREAM_TAKEOVERS", "4"))
SHARES = (("plain", "odd", "totals"), ("named", "windows"))


def started(shop, models):
    return Run(shop.root, "--shared", "--wait", "--select", *models)


def test_runs_that_are_killed_are_taken_over(shop):
    dice, traffic = random.Random(SEED), Traffic(shop.bootstrap)
    times = {"restart": [], "standby": []}
    runs = [started(shop, models) for models in SHARES]
    try:
        traffic.more(PER_ROUND)
        for run in runs:
            run.until("batch")
        for number in range(TAKEOVERS):
            index, kind = number // 2 % 2, ("restart", "standby")[number % 2]
            next_one = None
            if kind == "standby":
                next_one = started(shop, SHARES[index])
                next_one.until("Spark")
            traffic.more(PER_ROUND)
            runs[index].go_on(dice.uniform(0, 2))
            killed = time.monotonic()
            runs[index].kill(with_children=True)
            runs[index] = next_one or started(shop, SHARES[index])
            traffic.more(PER_ROUND)
            runs[index].until("batch")
            times[kind].append(time.monotonic() - killed)
        codes = [run.stop() for run in runs]
    finally:
        for run in runs:
            if run.process.poll() is None:
                run.kill(with_children=True)
    assert codes == [0, 0]
    succeed(shop.root, "build")
    check(shop, traffic.sent)
    print({kind: [f"{seconds:.1f} s" for seconds in durations] for kind, durations in times.items()})  # noqa: T201 -- the figures
