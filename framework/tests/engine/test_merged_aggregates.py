"""Aggregates with one state give the rows that each gives alone, and fail on no row of another one."""

import json
import random
from collections import defaultdict

import pytest
from support.runs import built, job_of, pairs, statuses
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.queries.emit.names import node_name

pytestmark = SPARK_WARNINGS

EVENTS = "{{ source('web', 'events') }}"
MEASURES = {
    # On rows of another kind, each of these divides by zero or overflows.
    "shares": ("sum(100 / value) as total", "value > 0", lambda rows: sum(100 / value for value in rows)),
    "products": (
        "max(cast(value * 1000000000 as int)) as total",
        "value <= 2",
        lambda rows: max(int(value * 1e9) for value in rows),
    ),
    "small": (
        "sum(cast(value * 1000000000 as int) + 1) as total",
        "value < 2",
        lambda rows: sum(int(value * 1e9) + 1 for value in rows),
    ),
    "counted": ("count(*) as total", "value = 3", len),
    "inverse": (
        "min(1 / (value - 3)) as total",
        "value <> 3",
        lambda rows: min(1 / (value - 3) for value in rows),
    ),
}
KEEPS = {
    "shares": lambda value: value > 0,
    "products": lambda value: value <= 2,
    "small": lambda value: value < 2,
    "counted": lambda value: value == 3,
    "inverse": lambda value: value != 3,
}


@pytest.mark.parametrize(
    "optimize",
    [
        pytest.param("['all', 'merge_aggregates']", id="one state"),
        pytest.param("'all'", id="own states", marks=pytest.mark.long),
    ],
)
def test_rows_do_not_depend_on_shared_state(shop, first_spark, optimize):
    for name, (measure, where, _) in MEASURES.items():
        config = f"{{{{ config(materialized='sink', key='user', optimize={optimize}, unbounded_state='accept') }}}}"
        shop.model(name, f"{config} select user, {measure} from {EVENTS} where {where} group by user")
    states = {
        node_name(node) for output in job_of(shop.root).topology.plan.outputs for node in _states(output)
    }
    assert len(states) == (1 if "merge" in optimize else len(MEASURES))
    dice = random.Random(7)
    rows = defaultdict(list)
    for _ in range(3):
        sent = [(f"u{dice.randrange(6)}", dice.choice([-2, 0, 0, 1, 2, 3, 3, 7])) for _ in range(30)]
        shop.send(*(event(1, user, float(value)) for user, value in sent))
        for user, value in sent:
            rows[user].append(value)
        results, _ = built(shop.root, first_spark)
        assert set(statuses(results).values()) == {"success"}
        for name, (_, _, expected) in MEASURES.items():
            passing = {user: [value for value in of if KEEPS[name](value)] for user, of in rows.items()}
            expected_totals = {user: pytest.approx(expected(of)) for user, of in passing.items() if of}
            newest = dict(pairs(shop.bootstrap, name))
            totals = {key.decode(): json.loads(value)["total"] for key, value in newest.items() if value}
            assert totals == expected_totals, name


def _states(node):
    if node.stateful:
        yield node
    for child in node.inputs:
        yield from _states(child)
