"""`millstream apply` and its way back, killed again and again: a table has the rows of one version or the other.

`MILLSTREAM_CRASHES=20 uv run pytest -m long framework/tests/crash/test_killed_applies.py` is a longer run.
"""

import os
import random
import signal
import subprocess
from collections import defaultdict

import pytest
from support.commands import MILLSTREAM, PATIENCE, succeed
from support.runs import create_topics, send, table_rows

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

CRASHES = int(os.environ.get("MILLSTREAM_CRASHES", "5"))
SEED = int(os.environ.get("MILLSTREAM_SEED", "1"))
COUNT = 300
APPLY = ("apply", "--yes", "--no-tests")
BACK = ("apply", "--rollback")


def totals(change):
    return (
        "{{ config(materialized='table', unique_key='user') }} "
        f"select user, count(*) as events, {change} as ids from {{{{ source('web', 'events') }}}} group by user"
    )


@pytest.fixture
def shop(durable_shop):
    shop = durable_shop
    shop.model("plain", "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}")
    create_topics(shop.bootstrap, "events")
    rows = [(f"u{number % 5}", {"id": number, "kind": "x", "value": 1.0}) for number in range(COUNT)]
    send(shop.bootstrap, {"events": rows})
    return shop


def test_a_table_is_never_half_of_each(shop):
    dice = random.Random(SEED)
    shop.model("totals", totals("sum(id)"))
    succeed(shop.root, "build")
    before, after = expected(sum), expected(max)
    assert rows(shop) == before
    for _ in range(CRASHES):
        shop.model("totals", totals("max(id)"))
        until_done(shop, APPLY, dice, (before, after))
        assert rows(shop) == after
        until_done(shop, BACK, dice, (before, after))
        assert rows(shop) == before
        shop.model("totals", totals("sum(id)"))
        succeed(shop.root, "build")
        assert rows(shop) == before
    assert sorted(row["id"] for row in shop.values("plain")) == list(range(COUNT))


def until_done(shop, command, dice, allowed):
    """Kill a command at any moment, and let it end then; it may have ended before."""
    for _ in range(min(CRASHES, 2)):
        process = subprocess.Popen(
            [*MILLSTREAM, *command], cwd=shop.root, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            code = process.wait(dice.uniform(4, 20))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        else:
            assert code in {0, 2}  # 2: an earlier one had taken back all there was
        assert rows(shop) in allowed
    last = subprocess.run(
        [*MILLSTREAM, *command], cwd=shop.root, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert last.returncode == 0 or "MS887" in last.stderr, last.stderr


def expected(how):
    ids = defaultdict(list)
    for number in range(COUNT):
        ids[f"u{number % 5}"].append(number)
    return {user: (len(numbers), how(numbers)) for user, numbers in ids.items()}


def rows(shop):
    return {row["user"]: (row["events"], row["ids"]) for row in table_rows(shop.root, "model.totals")}
