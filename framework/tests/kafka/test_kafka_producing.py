"""Records reach Kafka, at the rate that was asked for, or it is told why not."""

import struct
import time
from itertools import count, islice

import pytest
from msgspec.structs import replace

from millstream.core.errors import MillstreamError
from millstream.kafka.clients import Admin, ClientErrors
from millstream.kafka.cluster import Cluster
from millstream.kafka.consuming import all_records
from millstream.kafka.generators import GeneratedRecord, generate_records, generators_of
from millstream.kafka.offsets import topic_bounds
from millstream.kafka.producing import TopicFeed, fill_empty, never_written, send_feeds
from millstream.kafka.topics import TopicConfig, create_missing
from millstream.local.broker import broker_folder_of


def feed(topic, size=10):
    return TopicFeed(topic, (GeneratedRecord(str(n).encode(), b"x" * size, None) for n in count()))


def held(admin, topic):
    return sum(end for _, end in topic_bounds(admin, [topic]).values())


def test_as_many_as_were_asked_for_of_each_feed(admin, name):
    create_missing(admin, [TopicConfig(f"{name}_1", 2), TopicConfig(f"{name}_2")])
    reports = []
    sent = send_feeds(
        admin, [feed(f"{name}_1"), feed(f"{name}_2")], 2500, progress=lambda *message: reports.append(message)
    )
    assert sent.records == {f"{name}_1": 2500, f"{name}_2": 2500}
    assert held(admin, f"{name}_1") == held(admin, f"{name}_2") == 2500
    assert (f"{name}_1", 1000) in reports
    assert reports[-1] == (f"{name}_2", 2500)


def test_a_feed_that_ends_is_no_mistake(admin, name):
    create_missing(admin, [TopicConfig(name)])
    assert send_feeds(admin, [TopicFeed(name, islice(feed(name).records, 7))], 100).records == {name: 7}


def test_a_rate_is_kept_for_each_feed(admin, name):
    create_missing(admin, [TopicConfig(f"{name}_1"), TopicConfig(f"{name}_2")])
    sent = send_feeds(admin, [feed(f"{name}_1"), feed(f"{name}_2")], 60, rate=60)
    assert sent.records == {f"{name}_1": 60, f"{name}_2": 60}
    assert sent.seconds > 0.8


def test_what_comes_fast_comes_in_batches(admin, shop, name):
    # Of 20 or more records each; one by one, they would cost the broker four times as much.
    create_missing(admin, [TopicConfig(name)])
    send_feeds(admin, [feed(name)], 1000, rate=2000)
    assert batches(shop, name) < 50


def test_what_comes_slowly_comes_at_once(admin, shop, name):
    create_missing(admin, [TopicConfig(name)])
    send_feeds(admin, [feed(name)], 20, rate=40)
    assert batches(shop, name) > 10  # a machine that is busy for a moment sends two at a time


def batches(shop, topic):
    """Count the batches in the broker's file of a topic: each begins with its offset and its length."""
    content = (broker_folder_of(shop).data / f"{topic}-0" / f"{0:020}.log").read_bytes()
    number = position = 0
    while position < len(content):
        _, size = struct.unpack_from(">qi", content, position)
        number += 1
        position += 12 + size
    return number


def test_keys_go_where_javas_clients_send_them(admin, name):
    # murmur2("21") of Kafka's own Utils is -973932308, of 3 partitions the second.
    create_missing(admin, [TopicConfig(name, 3)])
    send_feeds(admin, [TopicFeed(name, iter([GeneratedRecord(b"21", b"", None)] * 5))], None)
    assert {m.partition() for m in all_records(admin, [name])} == {(-973932308 & 0x7FFFFFFF) % 3}


def test_timestamps_are_those_of_events_where_the_topic_keeps_them(admin, name):
    now = int(time.time() * 1000)
    create_missing(
        admin, [TopicConfig(f"{name}_all"), TopicConfig(f"{name}_day", config={"retention.ms": "86400000"})]
    )
    old, recent, future = 1767225600000, now - 7_200_000, now + 864_000_000
    timestamps = {}
    for topic in (f"{name}_all", f"{name}_day"):
        send_feeds(
            admin,
            [
                TopicFeed(
                    topic, iter([GeneratedRecord(None, b"", time_) for time_ in (old, recent, future, None)])
                )
            ],
            None,
        )
        timestamps[topic[-3:]] = [m.timestamp()[1] for m in all_records(admin, [topic])]
    assert timestamps["all"][:2] == [old, recent]
    assert timestamps["day"][1] == recent
    for time_ in (*timestamps["all"][2:], timestamps["day"][0], *timestamps["day"][2:]):
        assert abs(time_ - now) < 60_000


def test_a_record_that_is_too_large_is_told(admin, name):
    create_missing(admin, [TopicConfig(name, config={"max.message.bytes": "2000"})])
    with pytest.raises(MillstreamError) as caught:
        send_feeds(admin, [feed(name, 5000)], 3)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, f"'{name}'" in diagnostic.message, "max.message.bytes" in diagnostic.help) == (
        "MS835",
        True,
        True,
    )


def test_small_records_fit_a_topic_that_takes_only_small_batches(admin, name):
    create_missing(admin, [TopicConfig(name, config={"max.message.bytes": "2000"})])
    assert send_feeds(admin, [feed(name, 100)], 500).records == {name: 500}
    assert held(admin, name) == 500


def test_a_topic_that_is_not_there_is_told(admin, name):
    with pytest.raises(MillstreamError) as caught:
        send_feeds(admin, [feed(name)], 3)
    assert name in caught.value.diagnostics[0].message


def test_a_kafka_that_went_away_is_told(admin, name):
    create_missing(admin, [TopicConfig(name)])
    gone = Cluster("127.0.0.1:1", {"producer": {"delivery.timeout.ms": 1500, "request.timeout.ms": 1000}})
    with pytest.raises(MillstreamError) as caught:
        send_feeds(Admin(gone, admin.client, ClientErrors()), [feed(name)], 3)
    assert caught.value.diagnostics[0].code == "MS822"


def test_a_mistake_of_a_generator_comes_through(admin, name):
    def broken():
        yield GeneratedRecord(None, b"", None)
        raise MillstreamError

    create_missing(admin, [TopicConfig(name)])
    with pytest.raises(MillstreamError):
        send_feeds(admin, [TopicFeed(name, broken())], 3)


def test_a_topic_whose_generator_fails_stays_empty(admin, project, name, tmp_path):
    generator, source = generators_of(project)["web.clicks"]
    (tmp_path / generator.path).parent.mkdir()
    (tmp_path / generator.path).write_text(
        "def clicks(random, now):\n    for n in range(1000):\n        yield None, {'id': n}\n    1 / 0\n"
    )
    sources = {"web.clicks": replace(source, topics=(name,))}
    failing = replace(project, root=str(tmp_path), sources=sources, generators=(generator,))
    create_missing(admin, [TopicConfig(name)])
    reports: list[tuple[str, int]] = []
    with pytest.raises(MillstreamError) as caught:
        fill_empty(admin, failing, [name], progress=lambda *sent: reports.append(sent))
    assert caught.value.diagnostics[0].code == "MS832"
    assert (reports, never_written(admin, [name])) == ([], {name})


def test_only_topics_without_records_are_filled(admin, project, name):
    sources = {
        id_: replace(source, topics=(f"{name}_{source.name}",)) for id_, source in project.sources.items()
    }
    renamed = replace(project, sources=sources)
    topics = [f"{name}_{topic}" for topic in ("clicks", "lines", "silent", "ticks")]
    create_missing(admin, [TopicConfig(topic, 2) for topic in topics[:3]])
    assert never_written(admin, topics) == frozenset(topics[:3])
    assert fill_empty(admin, renamed, topics, 20) == {f"{name}_clicks": 20, f"{name}_lines": 5}
    assert fill_empty(admin, renamed, topics, 20) == {}
    values = sorted(m.value() for m in all_records(admin, [f"{name}_clicks"]))
    assert values == sorted(
        r.value for r in islice(generate_records(renamed, *generators_of(renamed)["web.clicks"]), 20)
    )
