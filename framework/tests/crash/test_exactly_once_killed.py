"""`guarantee: exactly_once`, while `millstream run` is killed again and again: each record is there once.

`MILLSTREAM_EXACTLY_KILLS=200 MILLSTREAM_SEED=7 uv run pytest -m long framework/tests/crash` is a longer run.
"""

import os
import random
import signal

import pytest
from support.commands import Run, succeed
from support.exactly_once import MODELS, Traffic, check_once, write_models
from support.runs import create_topics
from support.standalone import standalone

from millstream.local.broker import broker_folder_of, keep_broker
from millstream.local.server.state import read_pid

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

KILLS = int(os.environ.get("MILLSTREAM_EXACTLY_KILLS", "20"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
PER_ROUND = 57
"""Records that are sent before each of the moments at which something may be killed."""
PROFILES = """
    shop:
      target: local
      outputs:
        local:
          master: local[2]
          kafka: embedded
          trigger: 200 milliseconds
          guarantee: exactly_once
          spark: {spark.sql.shuffle.partitions: 2}
"""


FEW = ("plain", "odd", "parts", "totals")
"""The models that run on a cluster of two cores."""


@pytest.fixture
def shop(durable_shop):
    shop = durable_shop
    shop.write("profiles.yml", PROFILES)
    write_models(shop)
    create_topics(shop.bootstrap, "events")
    return shop


def test_each_record_is_there_once(shop):
    dice = random.Random(SEED)
    traffic = Traffic(shop.bootstrap)
    for _ in range(KILLS):
        crash(shop, traffic, dice)
    traffic.more(PER_ROUND)
    succeed(shop.root, "build")
    check_once(shop, traffic)


def test_each_record_is_there_once_although_a_worker_of_a_cluster_dies(shop):
    dice = random.Random(SEED)
    traffic = Traffic(shop.bootstrap)
    for name in MODELS.keys() - FEW:
        (shop.root / f"models/{name}.sql").unlink()
    with standalone(shop.root, shop.bootstrap, "exactly_once") as workers:
        for killed in (workers[1].kill, None):
            traffic.more(PER_ROUND)
            run = Run(shop.root, "--target", "cluster")
            try:
                run.until("batch")
                for _ in range(5):
                    traffic.more(PER_ROUND)
                    run.go_on(dice.uniform(0, 2))
                if killed is not None:
                    killed()
                    traffic.more(PER_ROUND)
                    run.until("batch")
                    traffic.more(PER_ROUND)
                    run.until("batch")
            finally:
                run.kill(with_children=True)
        traffic.more(PER_ROUND)
        succeed(shop.root, "build", "--target", "cluster")
    check_once(shop, traffic, FEW)


def crash(shop, traffic, dice):
    """Run until queries run, send records, and kill the run or the broker at any moment after that."""
    keep_broker(shop.root)
    run = Run(shop.root)
    try:
        run.until("started")
        for _ in range(dice.randrange(1, 8)):
            traffic.more(PER_ROUND)
            run.go_on(dice.uniform(0, 2))
        if dice.random() < 0.15:
            os.kill(read_pid(broker_folder_of(shop.root)), signal.SIGKILL)
            run.until("broker")
            traffic.more(PER_ROUND)
            run.go_on(dice.uniform(0, 6))
    finally:
        run.kill(with_children=dice.random() < 0.5)
