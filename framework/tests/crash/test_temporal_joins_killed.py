"""A stream joins versions as of its event time, while `millstream run` is killed: rows as without.

`MILLSTREAM_TEMPORAL_KILLS=50 MILLSTREAM_SEED=7 uv run pytest -m long framework/tests/crash/test_temporal_joins_killed.py` is longer.
"""

import os
import random

import pytest
from crash.test_ttl_killed import PROFILES
from support.commands import Run, succeed
from support.runs import create_topics
from support.temporal import JOINED, TOPICS, Traffic

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

KILLS = int(os.environ.get("MILLSTREAM_TEMPORAL_KILLS", "5"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))


@pytest.fixture
def shop(durable_shop):
    shop = durable_shop
    shop.write("profiles.yml", PROFILES)
    shop.more(TOPICS)
    shop.model("joined", JOINED)
    create_topics(shop.bootstrap, "events", "orders", "prices", partitions=2)
    return shop


def test_rows_are_those_of_a_run_that_was_not_killed(shop):
    dice = random.Random(SEED)
    # The records of a batch are sent together, so the last ones may come with earlier ones.
    traffic = Traffic(shop.bootstrap, dice, late=0.4)
    for _ in range(KILLS):
        run = Run(shop.root)
        try:
            run.until("started")
            for _ in range(dice.randrange(1, 5)):
                traffic.more(30)
                run.go_on(dice.uniform(0, 3))
            traffic.more(30)
            run.until("batch")
        finally:
            run.kill(with_children=True)
    traffic.more()
    traffic.end()
    succeed(shop.root, "build")
    prices = {row["id"]: row.get("price") for row in shop.values("joined") if row["id"] >= 0}
    assert prices == traffic.joined()
