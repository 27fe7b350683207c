"""Plans as bytes, and what tells one from another."""

import msgspec
import pytest
from support.plans import (
    by,
    dedupe,
    explode,
    group,
    join,
    lookup,
    opaque,
    output,
    plan,
    seed,
    select,
    table,
    topic,
    union,
    where,
)
from support.plans import watermark as late

from millstream.plan.nodes.order import in_order
from millstream.plan.table import decode_nodes, digest_nodes, encode_nodes


def everything():
    events = where(late(topic("user", "value", "ts")), "value > 1")
    counted = group(by(select(events, "user", "twice = value * 2"), "user"), ("user",), "n = sum(twice)")
    looked_up = lookup(events, seed("user", "name"), "l_user = r_user")
    return plan(
        counted,
        union(select(events, "user"), select(events, "user")),
        join(events, topic("user", "value", "ts", name="others"), "l_user = r_user"),
        looked_up,
        lookup(events, table("user", "name"), "l_user = r_user"),
        dedupe(events, "user"),
        explode(events, "array(value)", "one"),
        opaque(events, seed("user", "name")),
    )


def test_a_plan_comes_back_as_it_was_and_what_is_shared_stays_shared():
    before = everything()
    after = decode_nodes(encode_nodes(before.outputs))
    was, now = in_order(before.outputs), in_order(after)
    assert [type(node) for node in now] == [type(node) for node in was]
    assert [node.columns for node in now] == [node.columns for node in was]
    assert [(node.label, node.models) for node in now] == [(node.label, node.models) for node in was]
    assert [node.fingerprint for node in now] == [node.fingerprint for node in was]
    for node in now:
        del node.__dict__["fingerprint"]
    assert [node.fingerprint for node in now] == [node.fingerprint for node in was]
    assert digest_nodes(after) == digest_nodes(before.outputs)


def test_options_stay_in_the_order_that_they_have():
    node = msgspec.structs.replace(output(topic("a")), options={"state": {"store": "memory"}, "group": "g"})
    (decoded_node,) = decode_nodes(encode_nodes((node,)))
    assert list(decoded_node.options) == ["state", "group"]


@pytest.mark.parametrize("damaged", [b"", b"\x93\x90\x91\x01\x90", b"nothing"])
def test_what_is_no_table_is_refused(damaged):
    with pytest.raises((msgspec.DecodeError, ValueError)):
        decode_nodes(damaged)


@pytest.mark.parametrize(
    "other",
    [
        select(topic("a"), "b = a + 2", label="x"),
        select(topic("a"), "b = a + 1", label="y"),
        select(topic("a"), "b = a + 1", label="x", model="n"),
        select(topic("a", name="others"), "b = a + 1", label="x"),
    ],
)
def test_all_of_a_node_tells_its_shape(other):
    assert digest_nodes((other,)) != digest_nodes((select(topic("a"), "b = a + 1", label="x"),))


def test_equal_shapes_are_those_of_equal_plans():
    assert digest_nodes(everything().outputs) == digest_nodes(everything().outputs)


def test_what_is_shared_tells_the_shape():
    one = topic("a")
    assert digest_nodes((union(one, one),)) != digest_nodes((union(topic("a"), topic("a")),))
