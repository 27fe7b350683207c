"""Records are read as they are, decoded by what is known of them, and nothing is committed."""

import threading
from itertools import islice

import pytest

from millstream.core.errors import MillstreamError
from millstream.core.types import BIGINT, BINARY, STRING, Field
from millstream.formats.keys import KeyFormat
from millstream.formats.registry import KEY, Encoding
from millstream.kafka.consuming import all_records, first_offsets, follow_records, newest_records
from millstream.kafka.generators import GeneratedRecord
from millstream.kafka.producing import TopicFeed, send_feeds
from millstream.kafka.topic_decoding import TopicDecoding, show_record
from millstream.kafka.topics import TopicConfig, create_missing


def values(messages):
    return [m.value() for m in messages]


def numbers(count, start=1767225600000):
    return [GeneratedRecord(None, str(n).encode(), start + n) for n in range(count)]


def test_everything_that_a_topic_holds_and_no_more(admin, put, name):
    create_missing(admin, [TopicConfig(name, 3)])
    put(name, *(str(n).encode() for n in range(3000)))
    messages = all_records(admin, [name])
    some = next(messages).value()
    put(name, b"later")
    assert sorted([some, *values(messages)]) == sorted(str(n).encode() for n in range(3000))


def test_an_empty_topic_and_one_that_is_not_there(admin, name):
    create_missing(admin, [TopicConfig(name)])
    assert [*all_records(admin, [name, f"{name}_2"])] == []
    assert newest_records(admin, [name], 5) == ([], {(name, 0): 0})


def test_the_newest_of_each_topic_over_its_partitions(admin, name):
    create_missing(admin, [TopicConfig(f"{name}_1", 4), TopicConfig(f"{name}_2")])
    send_feeds(admin, [TopicFeed(f"{name}_{n}", iter(numbers(500))) for n in (1, 2)], None)
    messages, ends = newest_records(admin, [f"{name}_1", f"{name}_2"], 3)
    assert values(messages) == [b"497", b"498", b"499"] * 2
    assert sum(ends.values()) == 1000
    assert newest_records(admin, [f"{name}_2"], 0)[0] == []
    assert len(newest_records(admin, [f"{name}_2"], 9999)[0]) == 500


def test_following_goes_on_with_what_comes(admin, put, name):
    create_missing(admin, [TopicConfig(name, 2)])
    put(name, b"a")
    _, ends = newest_records(admin, [name], 1)
    timer = threading.Timer(0.3, put, (name, b"b", b"c"))
    timer.start()
    assert sorted(values(islice(follow_records(admin, ends), 2))) == [b"b", b"c"]
    assert sorted(values(islice(follow_records(admin, first_offsets(admin, [name])), 3))) == [
        b"a",
        b"b",
        b"c",
    ]
    timer.join()


def test_no_group_is_left_behind(admin, put, name):
    create_missing(admin, [TopicConfig(name)])
    put(name, b"a")
    assert values(all_records(admin, [name])) == [b"a"]
    groups = admin.client.list_consumer_groups(request_timeout=10).result(20)
    assert [g.group_id for g in groups.valid if "millstream" in g.group_id] == []


JSON = TopicDecoding(("t",), Encoding("json"), (Field("id", BIGINT),))


@pytest.mark.parametrize(
    ("reading", "key", "value", "expected"),
    [
        (JSON, b"k", b'{"id": 1}', ("k", {"id": 1}, {})),
        (JSON, None, None, (None, None, {})),
        (JSON, b"k", b"{", ("k", b"{", "value")),
        (JSON, b"\xff", b"1", (b"\xff", b"1", "key value")),
        (JSON, b"k", b'{"id": 1.5}', ("k", b'{"id": 1.5}', "value")),
        (JSON, b"k", b'{"id": 1, "id": 2}', ("k", b'{"id": 1, "id": 2}', "value")),
        (JSON, b"k", b'{"more": 1e9999999999999999999}', ("k", {"more": "1e9999999999999999999"}, {})),
        (
            TopicDecoding(("t",), Encoding("csv"), (Field("a", BIGINT),)),
            None,
            b"1.0",
            (None, b"1.0", "value"),
        ),
        (
            TopicDecoding(("t",), Encoding("xml"), (Field("a", BIGINT),)),
            None,
            b"<r><a>x</a></r>",
            (None, b"<r><a>x</a></r>", "value"),
        ),
        (
            TopicDecoding(("t",), Encoding("csv", "lenient"), (Field("a", STRING),)),
            None,
            b"1.0",
            (None, {"a": "1.0"}, {}),
        ),
        (
            TopicDecoding(("t",), Encoding("long"), (), KeyFormat(KEY, BIGINT)),
            b"12",
            (5).to_bytes(8, "big"),
            (12, 5, {}),
        ),
        (
            TopicDecoding(("t",), Encoding("long"), (), KeyFormat(KEY, BIGINT)),
            b"x",
            b"12",
            (b"x", b"12", "key value"),
        ),
        (TopicDecoding(("t",), Encoding("binary"), (), KeyFormat(KEY, BINARY)), b"k", b"v", (b"k", b"v", {})),
        (
            TopicDecoding(("t",), Encoding("csv"), (Field("a", BIGINT), Field("b", STRING))),
            None,
            b'1,""',
            (None, {"a": 1, "b": ""}, {}),
        ),
        (
            TopicDecoding(("t",), Encoding("csv"), (Field("a", BIGINT),)),
            None,
            b"1,2",
            (None, b"1,2", "value"),
        ),
        (TopicDecoding(("t",), Encoding("csv"), (Field("a", BIGINT),)), None, b'"1', (None, b'"1', "value")),
        (
            TopicDecoding(("t",), Encoding("xml"), (Field("a", BIGINT),)),
            None,
            b"<r><a>1</a></r>",
            (None, {"a": 1}, {}),
        ),
        (TopicDecoding(("t",), Encoding("xml")), None, b"<r>", (None, b"<r>", "value")),
        (
            TopicDecoding(("t",), Encoding("xml")),
            None,
            b"<!DOCTYPE r [<!ENTITY e 'x'>]><r>&e;</r>",
            (None, b"<!DOCTYPE r [<!ENTITY e 'x'>]><r>&e;</r>", "value"),
        ),
        (TopicDecoding(("t",)), b"k", b'{"a": [1]}', ("k", {"a": [1]}, {})),
        (TopicDecoding(("t",)), b"k", b"{text}\n", ("k", "{text}\n", {})),
        (TopicDecoding(("t",)), b"k", b"\x00\x00\x01", ("k", b"\x00\x00\x01", {})),
    ],
)
def test_records_are_decoded_or_told_why_not(admin, put, name, reading, key, value, expected):
    create_missing(admin, [TopicConfig(name)])
    put(name, value, key=key)
    (message,) = all_records(admin, [name])
    record = show_record(message, reading)
    assert (record.key, record.value) == expected[:2]
    assert " ".join(record.wrong) == (expected[2] or "")
    assert record.timestamp is not None


def test_a_kafka_that_does_not_permit_it_is_no_crash(admin):
    from millstream.kafka.clients import Admin, ClientErrors
    from millstream.kafka.cluster import Cluster

    wrong = Cluster("127.0.0.1:1", {"consumer": {"fetch.min.bytes": "nonsense"}})
    with pytest.raises(MillstreamError):
        [*follow_records(Admin(wrong, admin.client, ClientErrors()), {("t", 0): 0})]
