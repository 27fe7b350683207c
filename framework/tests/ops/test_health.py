"""What probes answer by the thresholds of a target."""

import time

import pytest

from millstream.core.errors import Diagnostic
from millstream.engine.queries.batch_result import BatchResult
from millstream.ops.health import Health, health_of
from millstream.ops.query_status import QueryStatus
from millstream.project.values import Target
from millstream.results.thresholds import interval_of_tests
from millstream.sources.topic.positions import positions_at

STALE = "it has ended no batch for 90 s: max_staleness is 60 s"


def status(**fields):
    """Return the status of a query that has 50 records to read, and whose last batch ended 90 s ago."""
    batch = BatchResult(1, 10, 1.0, read=positions_at({"events": {0: 100}}), behind={"events": 50})
    now = time.time()
    values = {
        "status": "running",
        "last": batch,
        "last_active": now - 90,
        "began": now - 500,
        "caught_up": True,
        "started": now - fields.pop("started_ago", 500),
    } | fields
    return QueryStatus("totals", ("totals",), **values)


@pytest.mark.parametrize(
    ("health", "seen", "ready", "live"),
    [
        (Health(), {}, [], []),
        (Health(max_lag=50), {}, [], []),
        (Health(max_lag=49), {}, ["its lag of 50 records is above max_lag, 49"], []),
        (Health(max_staleness=60), {}, [STALE], [STALE]),
        (Health(max_staleness=120), {}, [], []),
        # Nothing to read: its last batch may be as old as it likes.
        (Health(max_staleness=60), {"last": BatchResult(1, 10, 1.0)}, [], []),
        # A query that fails is restarted already.
        (Health(max_staleness=60), {"status": "failed"}, ["it is failed", STALE], []),
        (Health(), {"status": "stopped"}, ["it is stopped"], ["it has stopped"]),
        (Health(), {"caught_up": False}, ["it has not caught up since the start"], []),
        (Health(), {"left_out": {"totals": Diagnostic("MS861", "x")}}, ["totals is left out"], []),
        # A restart would not help a query that waits for others.
        (
            Health(max_staleness=60),
            {"status": "waiting", "last": None, "last_active": 0.0},
            ["it is waiting", STALE.replace("90", "500")],
            [],
        ),
        # A first batch that never ends; Spark's start before it does not count.
        (
            Health(max_staleness=60),
            {"last": None, "last_active": 0.0, "started_ago": 400},
            [STALE.replace("90", "400")],
            [STALE.replace("90", "400")],
        ),
        (
            Health(max_staleness=60),
            {"last": None, "last_active": 0.0, "caught_up": False},
            ["it has not caught up since the start", STALE.replace("90", "500")],
            [STALE.replace("90", "500")],
        ),
    ],
)
def test_probes(health, seen, ready, live):
    assert health.not_ready(status(**seen)) == ready
    assert health.not_live(status(**seen)) == live


def test_thresholds_come_from_the_target():
    settings = {"health": {"max_lag": 100000, "max_staleness": "5 minutes", "test_every": "never"}}
    assert health_of(Target("local", "local", settings)) == Health(100000, 300.0)
    assert interval_of_tests(Target("local", "local", settings)) is None
    assert (health_of(Target("local", "local", {})), interval_of_tests(Target("local", "local", {}))) == (
        Health(),
        600.0,
    )
