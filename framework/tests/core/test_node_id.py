"""Ids of nodes: values in Python, and the same texts as ever in files."""

import pickle

import msgspec
import pytest
from msgspec import Struct

from millstream.core.decoding import from_json, from_msgpack
from millstream.core.encoding import to_builtins, to_json, to_msgpack, to_sorted_json
from millstream.core.node_id import NO_NODE, NodeId
from millstream.deploy.planning.records import QueryRecord

EVENTS = NodeId("source", "shop.events")


class Reads(Struct, frozen=True):
    of: NodeId
    rows: dict[NodeId, int]
    above: NodeId = NO_NODE


def test_its_text_has_the_kind_and_the_name():
    assert str(EVENTS) == "source.shop.events"
    assert (EVENTS.kind, EVENTS.name, EVENTS.last_name) == ("source", "shop.events", "events")
    assert (NodeId("model", "totals").shown_name, EVENTS.shown_name) == ("totals", "source.shop.events")


@pytest.mark.parametrize("text", ["model.orders", "source.shop.events", "unit_test.orders.empty", ""])
def test_a_text_is_read_as_it_is_written(text):
    assert str(NodeId.parse(text)) == text
    assert NodeId.parse(text) == pickle.loads(pickle.dumps(NodeId.parse(text)))


@pytest.mark.parametrize("text", ["orders", "model.", "models.orders", ".orders"])
def test_other_texts_are_no_ids(text):
    with pytest.raises(ValueError, match=r"is not the id of a node"):
        NodeId.parse(text)


def test_ids_sort_as_their_texts():
    ids = [NodeId("source", "b"), NodeId("model", "z"), NodeId("seed", "a"), NodeId("model", "a_b")]
    assert sorted(ids) == sorted(map(str, ids))


def test_it_can_not_change():
    with pytest.raises(AttributeError):
        EVENTS.name = "other"


def test_no_node_is_false_and_empty():
    assert not NO_NODE
    assert (str(NO_NODE), NO_NODE.kind, NO_NODE.name) == ("", "", "")


def test_files_have_its_text():
    reads = Reads(EVENTS, {NodeId("model", "b"): 1, NodeId("model", "a"): 2})
    assert to_json(reads) == b'{"of":"source.shop.events","rows":{"model.b":1,"model.a":2},"above":""}'
    assert to_sorted_json(reads) == b'{"of":"source.shop.events","rows":{"model.a":2,"model.b":1},"above":""}'
    assert to_msgpack(reads) == msgspec.msgpack.encode(
        {"of": "source.shop.events", "rows": {"model.b": 1, "model.a": 2}, "above": ""}
    )
    assert to_builtins(reads)["rows"] == {"model.b": 1, "model.a": 2}
    for again in (from_json(to_json(reads), Reads), from_msgpack(to_msgpack(reads), Reads)):
        assert again == reads
        assert [id_.name for id_ in again.rows] == ["b", "a"]


RECORD = (
    b'{"project":"shop","query":"totals","id":"3f2a","signature":{"sources":["source.shop.events"],'
    b'"operators":[{"name":"aggregate by user","kind":"aggregate","facts":[["keys","user"]],"below":"",'
    b'"depends":null,"below_depends":[["seed","countries","a1"]],"emitted":null,"models":["model.totals"],'
    b'"kept":null,"number":null}],"branches":["model.totals"],"timezone":"UTC","stored":[{"model":"model.totals",'
    b'"keys":["user"],"rows":"b2","depends":null,"retention":null,"place":null,"encoding":null,"types":{}}],'
    b'"topics":["events"],"settings":null,"former":[],"changes":["model.totals"],"tables":{"model.orders":'
    b'{"id":"bigint"}},"settings_of":{},"copies":[]},"models":["model.totals","model.clean"],"tables":{"model.totals":[]},'
    b'"gone":["model.old"],"outputs":{"model.totals":"","source.shop.users":""},"made":"","format":1,'
    b'"folder":"spark","left_out":{"model.totals":{"events":{"0":5}}},"began":{},"ids":{},"sent":{},'
    b'"definition":"","defined":"","split_from":"","sent_as":"","tombstones":"all","reread":{"model.totals":"t"},'
    b'"former":""}'
)
"""As it was written when ids were texts."""


def test_records_of_queries_that_were_deployed_before_are_read_and_written_the_same():
    record = from_json(RECORD, QueryRecord)
    written = msgspec.json.decode(to_json(record))
    assert _only(written, before := msgspec.json.decode(RECORD)) == before
    assert [(id_.kind, id_.name) for id_ in record.stored] == [("model", "totals"), ("source", "shop.users")]
    assert record.signature.sources == (EVENTS,)


def _only(written, before):
    """Return what is written without fields that are newer than the record, which have their defaults."""
    if isinstance(before, dict):
        return {key: _only(written[key], value) for key, value in before.items()}
    if isinstance(before, list):
        return [_only(*pair) for pair in zip(written, before, strict=True)]
    return written
