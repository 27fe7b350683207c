"""Which queries wait for which, and what becomes of those above a failed one."""

from threading import Barrier

import pytest

from millstream.core.node_id import NodeId
from millstream.deploy.live.query_order import run_in_order, upstream_queries
from millstream.outputs.kinds import Sink
from millstream.queries.values import (
    MemoryEstimate,
    Query,
    QuerySignature,
    SinkOutput,
    StaticRead,
    ToKafka,
    TopicRead,
)


def query(name, makes, *reads, at_rest=()):
    return Query(
        name, "stateless", (NodeId("model", makes),), tuple(TopicRead(r, NodeId.parse(r), (r,)) for r in reads),
        tuple(StaticRead(r, NodeId.parse(r)) for r in at_rest), (), "", ToKafka((SinkOutput(NodeId("model", makes), Sink(makes)),)),
        "append", QuerySignature((), ()), MemoryEstimate(None, ""),
    )  # fmt: skip


FIRST = query("first", "a", "source.s.t")
SECOND = query("second", "b", "model.a")
THIRD = query("third", "c", "source.s.u", at_rest=("model.b",))
OTHER = query("other", "d", "source.s.t")


def run(queries, bad=(), at_once=2):
    return run_in_order(
        queries, upstream_queries(queries), upstream_queries(queries), lambda q: "bad" if q.name in bad else "good", lambda _, causes: causes,
        lambda status: status != "good", at_once, lambda: None,
    )  # fmt: skip


def test_readers_wait_for_writers():
    assert upstream_queries([THIRD, SECOND, FIRST]) == {
        "first": frozenset(), "second": frozenset({"first"}), "third": frozenset({"second"}),
    }  # fmt: skip
    assert list(run([THIRD, SECOND, FIRST])) == ["first", "second", "third"]


def test_queries_that_read_from_each_other_do_not_wait_for_ever():
    queries = [query("one", "a", "model.b"), query("two", "b", "model.a"), query("self", "c", "model.c")]
    assert set(run(queries)) == {"one", "two", "self"}


def test_what_reads_a_failed_one_is_skipped_and_says_why():
    results = run([FIRST, SECOND, THIRD, OTHER], bad=("first",))
    assert results == {
        "first": "bad", "second": frozenset({"first"}), "third": frozenset({"second"}), "other": "good",
    }  # fmt: skip


def test_independent_ones_run_at_once():
    together = Barrier(2, timeout=10)
    run_in_order(
        [FIRST, OTHER], upstream_queries([FIRST, OTHER]), upstream_queries([FIRST, OTHER]), lambda _: together.wait(), lambda *_: None, lambda _: False, 2,
        lambda: None,
    )  # fmt: skip


def test_an_interrupt_stops_what_runs():
    stopped = []

    def work(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_in_order(
            [FIRST],
            upstream_queries([FIRST]),
            upstream_queries([FIRST]),
            work,
            lambda *_: None,
            lambda _: False,
            1,
            lambda: stopped.append(1),
        )
    assert stopped == [1]
