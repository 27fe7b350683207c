"""Tables that read the same rows by several paths never show half a change, in a run whose queries all work at once."""

import threading
from collections import Counter

import pytest
from deltalake import DeltaTable
from support.running import running
from support.runs import create_topics, job_of
from support.shops import Shop, event
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.live.shared_gates import AtOneMoment, SharedGates
from millstream.deploy.values import BatchCompleted
from millstream.engine.queries.batch_scheduler import BatchTurns, QueryTurn
from millstream.engine.queries.gate import BatchGate
from millstream.engine.queries.snapshots import TableSnapshots, moment_of
from millstream.project.load import load_project
from millstream.stores.delta.folder import delta_folder

pytestmark = SPARK_WARNINGS

MODELS = {
    "one": ("id", "select id, user, value from {{ source('web', 'events') }}"),
    "two": ("id", "select id, user from {{ source('web', 'events') }}"),
    "ones": ("user", "select user, count(*) as n from {{ ref('one') }} group by user"),
    "twos": ("user", "select user, count(*) as n from {{ ref('two') }} group by user"),
    "totals": ("user", "select user, n + 0 as n from {{ ref('ones') }} where n > (select min(n) - 1 from {{ ref('ones') }})"),
    "compared": (
        "user",
        """select o.user, o.n as ones, t.n as twos, a.n as totals, count(e.id) as events
        from {{ ref('ones') }} as o join {{ ref('twos') }} as t on t.user = o.user
        left join {{ ref('totals') }} as a on a.user = o.user left join {{ ref('one') }} as e on e.user = o.user
        group by o.user, o.n, t.n, a.n""",
    ),
    "both": ("id", "select o.id, t.id is not null as known from {{ ref('one') }} as o left join {{ ref('two') }} as t on t.id = o.id"),
}  # fmt: skip


@pytest.fixture
def shop(tmp_path, broker):
    shop = Shop(tmp_path, broker)
    create_topics(shop.bootstrap, "events", partitions=1)
    for name, (key, sql) in MODELS.items():
        shop.model(name, f"{{{{ config(materialized='table', unique_key='{key}') }}}} {sql}")
    return shop


def moments(shop, *, unshared=()):
    queries = job_of(shop.root).physical.queries
    return {
        query.maintaining.target.model.partition(".")[2]: moment_of(query, queries, unshared)
        for query in queries
        if query.maintaining is not None
    }


def test_what_is_read_on_several_ways_is_seen_at_one_moment(shop):
    by_model = moments(shop)
    (writer,) = (query.name for query in job_of(shop.root).physical.queries if len(query.tables) > 1)
    compared = by_model.pop("compared")
    assert compared.tables == ("model.ones", "model.twos", "model.totals")
    assert (compared.bases, compared.writers) == (("model.one", "model.two"), (writer,))
    both = by_model.pop("both")
    assert (both.tables, both.bases, both.writers) == ((), ("model.one", "model.two"), (writer,))
    assert by_model == {"ones": None, "twos": None, "totals": None}
    unshared = moments(shop, unshared={"model.ones"})["compared"]
    assert (unshared.tables, unshared.bases) == (
        ("model.totals", "model.twos"),
        ("model.one", "model.ones", "model.two"),
    )


def test_queries_that_hold_each_other_never_wait_for_ever():
    """The tables d and e read c, a and b; c reads a and b; two batches execute at a time."""
    together, turns = SharedGates(), BatchTurns(2)
    reads = {"a": (), "b": (), "c": ("a", "b"), "d": ("a", "b", "c"), "e": ("b", "c")}
    gates, working, seen = {}, set(), Counter()
    for name, tables in reads.items():
        moment = AtOneMoment(together, QueryTurn(turns, quick=False))
        moment.moment = (
            TableSnapshots(tuple(NodeId("model", table) for table in tables), (), ()) if tables else None
        )
        gates[name] = BatchGate(moment)
        together.keep(NodeId("model", name), gates[name], lambda _: None)

    def work(name):
        for _ in range(200):
            with gates[name]:
                assert not working.intersection(reads[name])
                working.add(name)
                seen[name] += 1
                working.remove(name)

    threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in reads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert seen == dict.fromkeys(reads, 200)


def versions(root, model):
    """Yield the rows of each version of a table."""
    path = delta_folder(load_project(root, None, None, None).target, root).read(NodeId("model", model))
    table = DeltaTable(path)
    for number in range(table.version() + 1):
        table.load_as_version(number)
        yield table.to_pyarrow_table().to_pylist()


@pytest.mark.long
def test_no_version_of_a_table_shows_half_of_a_change(shop, first_spark):
    sent = [event(number, f"u{number % 3}") for number in range(120)]
    (writer,) = (query.name for query in job_of(shop.root).physical.queries if len(query.tables) > 1)
    users = Counter(user for user, _ in sent)
    shop.send(*sent[:6])

    def read(run):
        return sum(batched.batch.rows for batched in run.of(BatchCompleted) if batched.query == writer)

    def last(model):
        rows = list(versions(shop.root, model))
        return {tuple(row.values()) for row in rows[-1]} if rows else set()

    with running(shop.root, first_spark) as run:
        run.until(lambda: {batched.query for batched in run.of(BatchCompleted)} >= {"compared", "both"})
        for number in range(6, 120, 6):
            shop.send(*sent[number : number + 6])
            run.until(lambda until=number + 6: read(run) == until)
        expected = {(user, n, n, n, n) for user, n in users.items()}
        run.until(lambda: last("compared") == expected and len(last("both")) == 120)
    seen = list(versions(shop.root, "compared"))
    assert len(seen) > 5
    for rows in seen:
        for row in rows:
            assert row["ones"] == row["twos"] == row["totals"] == row["events"], rows
    for rows in versions(shop.root, "both"):
        assert all(row["known"] for row in rows)
