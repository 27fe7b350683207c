"""Commands that remedies print, run as they are printed."""

import json
import os
import re
import shlex
import subprocess

import pytest
from support.commands import MILLSTREAM, succeed
from support.runs import create_topics
from support.shops import TOTALS, Shop, event

from millstream.local.broker import keep_broker, stop_broker

pytestmark = pytest.mark.long

PROFILES = """
    shop:
      target: local
      outputs:
        local: {master: "local[2]", kafka: embedded}
        live: {master: "local[2]", kafka: embedded}
"""
COUNTED = """
    {{ config(materialized='table', unique_key='user') }}
    select user, sum(n) as total from {{ ref('events_of_kinds') }} group by user
"""
KINDS = """
    {{ config(materialized='sink', dedupe={'keys': ['user', 'kind']}, unbounded_state='accept') }}
    select user, kind, 1 as n from {{ source('web', 'events') }}
"""


@pytest.fixture
def shop(tmp_path):
    shop = Shop(tmp_path, keep_broker(tmp_path).address)
    try:
        create_topics(shop.bootstrap, "events", partitions=1)
        shop.write("profiles.yml", PROFILES)
        shop.send(event(1), event(2, kind="y"))
        yield shop
    finally:
        stop_broker(tmp_path, force=True)


def refused(shop, code, *options):
    """Build on a target that is not the default; return the commands of the remedy."""
    done = subprocess.run(
        [*MILLSTREAM, "build", "-t", "live", "--output", "json", *options],
        cwd=shop.root, env=os.environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in {1, 2}, done.stdout + done.stderr
    output = json.loads(done.stdout)
    (help_,) = (diagnostic["help"] for diagnostic in output["diagnostics"] if diagnostic["code"] == code)
    return re.findall(r"millstream ([^,]+)", help_)


def run(shop, command):
    succeed(shop.root, *shlex.split(command))


def test_state_continues_or_is_rebuilt(shop):
    shop.model("totals", TOTALS)
    run(shop, "build -t live")
    shop.model("totals", TOTALS.replace("group by", "where value > 0 group by"))
    accept, apply = refused(shop, "MS871")
    assert (accept, apply) == ("build -t live --accept mixed:totals --select totals", "apply -t live")
    run(shop, accept)
    shop.model("totals", TOTALS.replace("sum", "max"))
    (apply,) = refused(shop, "MS870")
    assert apply == "apply -t live"
    run(shop, apply)
    run(shop, "build -t live")


def test_what_would_count_rows_twice_is_rebuilt_with_its_readers(shop):
    shop.model("events_of_kinds", KINDS)
    shop.model("totals", COUNTED)
    run(shop, "build -t live")
    (rebuild,) = refused(shop, "MS882", "--rebuild", "events_of_kinds")
    assert rebuild == "build -t live --rebuild events_of_kinds+"
    run(shop, rebuild)


def test_records_of_a_sink_are_sent_again_after_the_broker_was_restarted(shop):
    shop.model(
        "events_of_kinds", KINDS.replace(", dedupe={'keys': ['user', 'kind']}, unbounded_state='accept'", "")
    )
    run(shop, "build -t live")
    stop_broker(shop.root, force=True)
    shop.bootstrap = keep_broker(shop.root).address
    run(shop, "build -t live --rebuild events_of_kinds")
    run(shop, "build -t live")
    assert sorted(row["kind"] for row in shop.values("events_of_kinds")) == ["x", "x", "y", "y"]
