"""A wall clock that is set back."""

import time

import pytest
from support.running import running
from support.spark import SPARK_WARNINGS

from millstream.deploy.values import BatchCompleted, QueryFailed, QueryRunning, SetupStep
from millstream.runner.commands.run import Clock

pytestmark = SPARK_WARNINGS


class Time:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def test_a_clock_that_goes_on_is_not_noted():
    wall, steady = Time(), Time()
    clock = Clock(wall, steady)
    for wall.now, steady.now in ((10.0, 10.0), (5000.0, 11.0), (5000.5, 12.0)):
        assert clock.went_back() == 0


def test_a_clock_that_is_set_back_is_told_once():
    wall, steady = Time(), Time()
    clock = Clock(wall, steady)
    wall.now, steady.now = -3590.0, 10.0
    assert clock.went_back() == 3600
    wall.now, steady.now = -3589.0, 11.0
    assert clock.went_back() == 0


def test_a_reading_that_takes_long_is_no_step():
    wall, steady = Time(), Time()
    late = [0.0]

    def slowly():
        now = wall.now
        steady.now += late[0]  # the answer comes later
        return now

    clock = Clock(slowly, steady)
    wall.now, steady.now, late[0] = 10.0, 10.0, 60.0
    assert clock.went_back() == 0
    wall.now, late[0] = 71.0, 0.0
    steady.now = 71.0
    assert clock.went_back() == 0
    wall.now, steady.now = 12.0, 72.0
    assert clock.went_back() == 60, "a step after a reading that took long is still seen"


@pytest.mark.long
def test_queries_start_again_when_the_clock_is_set_back(shop, first_spark, monkeypatch):
    ahead = Time()
    monkeypatch.setattr("millstream.runner.commands.run.spark_time", lambda _: time.monotonic() + ahead.now)
    shop.model("plain", "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}")
    shop.send(("a", {"id": 1}))
    with running(shop.root, first_spark) as going:
        going.until(lambda: going.of(BatchCompleted))
        ahead.now = -3600.0
        going.until(lambda: "clock" in [setup.name for setup in going.of(SetupStep)])
        going.until(lambda: len(going.of(QueryRunning)) == 2)
        shop.send(("a", {"id": 2}))
        going.until(lambda: len(shop.values("plain")) == 2)
        assert going.of(QueryFailed) == []
    assert [row["id"] for row in shop.values("plain")] == [1, 2]
