"""`millstream run` is asked to end, whatever it is doing."""

import pytest
from support.commands import Run

from millstream.broker import broker_status

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

SINK = "{{ config(materialized='sink') }} "
PLAIN = SINK + "select id from {{ source('web', 'events') }}"
FAILING = SINK + "select 1 / (id - 1) as half from {{ source('web', 'events') }}"


@pytest.mark.parametrize("phase", ["topics", "Spark", "started", "batch"])
def test_a_run_ends_cleanly(shop, phase):
    shop.model("plain", PLAIN)
    shop.send(("a", {"id": 2}))
    run = Run(shop.root, "--port", "0")
    run.until(phase)
    assert run.stop() == 0, run.said[-5:]


def test_a_run_ends_cleanly_while_it_waits_to_try_again(shop):
    shop.model("halves", FAILING)
    shop.send(("a", {"id": 1}))
    run = Run(shop.root, "--port", "0")
    run.until("failed")
    assert run.stop() == 0, run.said[-5:]


def test_a_run_ends_before_it_began(shop):
    shop.model("plain", PLAIN)
    run = Run(shop.root, "--port", "0")
    assert run.stop() != 1
    assert broker_status(shop.root).state == "running"  # of the test
