"""Models computed as a batch over what topics hold, in the tests' own Spark."""

import pytest
from support.runs import built, job_of

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.queries.topology import with_ancestors
from millstream.runner.samples.compute import SampleRequest, compute_rows

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

SINK = "{{ config(materialized='sink', key='id') }}\n"
EVENTS = "from {{ source('web', 'events') }} as e"
FUNCTIONS = """
    from dataclasses import dataclass
    from typing import Iterator

    @dataclass
    class Event:
        value: float

    @dataclass
    class State:
        total: float = 0

    def share(value: float) -> float:
        return 1 / value

    def halves(value: float) -> Iterator[int]:
        while value >= 1:
            yield int(value)
            value /= 2

    def growing(key: str, rows: Iterator[Event], state: State) -> Iterator[float]:
        for row in rows:
            state.total += row.value
            yield state.total
"""


@pytest.fixture
def events(shop):
    for n in range(1, 7):
        timestamp = f"2026-07-01T12:0{n}:00Z"
        shop.send((f"u{n % 2}", {"id": n, "kind": "ab"[n % 2], "value": float(n), "at": timestamp}))
    shop.write("macros/functions.py", FUNCTIONS)
    shop.write("seeds/kinds.csv", "kind,name\na,one\nb,two")
    return shop


@pytest.fixture
def compute(events, first_spark):
    def call(model, *needed, limit=10, last=10_000):
        job = job_of(events.root)
        ids = frozenset(NodeId("model", name) for name in (model, *needed))
        catalog = with_ancestors(job.catalog, ids)
        question = SampleRequest(job.project, catalog, NodeId("model", model), limit, last, "spark.log")
        admin = admin_of(Cluster(events.bootstrap, embedded=True))
        return compute_rows(question, admin, first_spark)

    return call


def test_a_model_that_reads_a_sink_is_computed_from_the_source(events, compute):
    events.model("passed", SINK + f"select id, kind, share(value) as part {EVENTS} where id > 2")
    events.model(
        "named", "select p.id, p.part, k.name from {{ ref('passed') }} as p join {{ ref('kinds') }} as k using (kind)"
    )  # fmt: skip
    result = compute("named", "passed")
    assert result.columns == ("id", "part", "name")
    assert sorted(result.rows) == [(3, 1 / 3, "two"), (4, 0.25, "one"), (5, 0.2, "two"), (6, 1 / 6, "one")]


@pytest.mark.parametrize(
    "rows", ["lateral view halves(e.value) h as half", ", lateral halves(e.value) as h(half)"]
)
def test_a_function_that_yields_plain_values(events, compute, rows):
    events.model(
        "halved", f"select e.id, half {EVENTS}{rows if rows[0] == ',' else ' ' + rows} where id >= 5"
    )
    result = compute("halved")
    assert sorted(result.rows) == [(5, 1), (5, 2), (5, 5), (6, 1), (6, 3), (6, 6)]


def test_the_newest_rows_by_event_time(events, compute):
    events.model("seen", f"select e.id, e.at {EVENTS}")
    result = compute("seen", limit=2)
    assert ([row[0] for row in result.rows], result.more) == ([6, 5], True)
    result = compute("seen", last=3)
    assert ([row[0] for row in result.rows], result.more) == ([6, 5, 4], False)


def test_an_aggregate_has_its_last_rows_and_keyed_state_begins_anew(events, compute):
    events.model("counts", f"select e.kind, count(*) as n, map(e.kind, 1) as m {EVENTS} group by e.kind")
    assert sorted(compute("counts").rows, key=str) == [("a", 3, {"a": 1}), ("b", 3, {"b": 1})]
    events.model("totals", f"select t.value {EVENTS}, lateral growing(e.user) as t")
    assert sorted(row[0] for row in compute("totals").rows) == [1, 2, 4, 6, 9, 12]


def test_a_table_is_read_as_it_is_stored(events, compute, first_spark):
    events.model(
        "newest", f"{{{{ config(materialized='table', unique_key='kind') }}}}\nselect e.kind, e.id {EVENTS}"
    )
    events.model(
        "joined", f"select e.id, n.id as last {EVENTS} join {{{{ ref('newest') }}}} as n using (kind)"
    )
    with pytest.raises(MillstreamError, match="MS843: 'newest' has not been built"):
        compute("joined", "newest")
    built(events.root, first_spark, models=frozenset(["model.newest"]))
    assert sorted(compute("joined", "newest").rows) == [(1, 5), (2, 6), (3, 5), (4, 6), (5, 5), (6, 6)]


def test_a_function_that_fails(events, compute):
    events.model("shares", f"select share(e.value - 3) as part {EVENTS}")
    with pytest.raises(MillstreamError, match=r"MS861: shares: .*share\(\): ZeroDivisionError"):
        compute("shares")


def test_what_a_build_refuses_is_not_computed(events, compute):
    events.model("numbered", f"select id, row_number() over (partition by kind order by id) as n {EVENTS}")
    # Where the compiler refuses it, there is no job: that is as good.
    with pytest.raises((MillstreamError, AssertionError), match=r"(?i)window|row_number"):
        compute("numbered")
