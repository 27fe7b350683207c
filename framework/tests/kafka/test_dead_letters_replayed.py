"""Dead letters are listed, shown, replayed once, and dropped; the counts always add up."""

import json
import subprocess
import time
from collections import Counter

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import OffsetSpec
from support.commands import MILLSTREAM
from support.runs import create_topics

SIZES = ("letters", "replayed", "dropped", "remaining")
TIMESTAMP = "2026-01-01 00:00:00.12"
MILLIS = 1767225600120


@pytest.fixture
def letters(cluster, admin, run):
    """Return a function that writes dead letters of clicks; topics are new for each test."""
    servers = cluster.bootstrap_servers
    names = [
        "clicks", "lines", "clicks.dead_letter", "clicks.dead_letter.handled", "lines.dead_letter",
        "lines.dead_letter.handled", "shop.out.dead_letter",
    ]  # fmt: skip
    present = [name for name in names if name in admin.metadata().topics]
    for future in admin.client.delete_topics(present).values() if present else ():
        future.result(10)
    while any(name in admin.metadata().topics for name in names):
        pass
    create_topics(servers, "clicks", "lines", partitions=3)
    create_topics(servers, "clicks.dead_letter", partitions=2)
    producer = Producer({"bootstrap.servers": servers})

    def write(*offsets, topic="clicks", **fields):
        for offset in offsets:
            send(producer, offset, topic, **fields)
        assert producer.flush(10) == 0

    return write


def send(
    producer,
    offset,
    topic,
    *,
    owner="source.web.clicks",
    reason="not JSON",
    value=None,
    more_headers=(),
    timestamp=TIMESTAMP,
):
    headers = [("trace", b"t"), ("trace", b"\xff"), ("empty", None), *more_headers]
    headers += [
        ("millstream.topic", topic), ("millstream.partition", str(offset % 3)),
        ("millstream.offset", str(offset)), ("millstream.timestamp", timestamp),
        ("millstream.source" if owner.startswith("source") else "millstream.model", owner),
        ("millstream.reason", reason), ("millstream.batch", "web_clicks/1/0"),
    ]  # fmt: skip
    value = f"value {offset}".encode() if value is None else value
    producer.produce(f"{topic}.dead_letter", value, f"k{offset}", headers=headers)
    producer.poll(0)


def read(cluster, topic, isolation="read_committed"):
    """Return the records of a topic, by a client of our own."""
    consumer = Consumer({
        "bootstrap.servers": cluster.bootstrap_servers, "group.id": "judge", "enable.auto.commit": False,
        "enable.partition.eof": True, "isolation.level": isolation,
    })  # fmt: skip
    numbers = consumer.list_topics(topic, timeout=10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers])
    messages, ended = [], set()
    while len(ended) < len(numbers):
        message = consumer.poll(20)
        assert message is not None
        if message.error() is None:
            messages.append(message)
        else:
            assert message.error().name() == "_PARTITION_EOF"
            ended.add(message.partition())
    consumer.close()
    return messages


def ends(admin, isolation):
    """Return the ends of the partitions of clicks, which take less time than its records."""
    requested = {TopicPartition("clicks", number): OffsetSpec.latest() for number in range(3)}
    offsets = admin.client.list_offsets(requested, isolation_level=isolation, request_timeout=10)
    return {
        topic_partition.partition: future.result(10).offset for topic_partition, future in offsets.items()
    }


def counts(run_json, *names):
    output = run_json("dead-letters", "ls", *names)
    assert output["letters"] == output["replayed"] + output["dropped"] + output["remaining"]
    for size in SIZES:
        assert output[size] == sum(dead_letter[size] for dead_letter in output["dead_letters"])
    return tuple(output[size] for size in SIZES)


def test_letters_are_counted_by_owner_and_reason(letters, run, run_json):
    letters(1, 2, 3)
    letters(4, owner="out", reason="out: ZeroDivisionError")
    counted = run_json("dead-letters", "ls")["dead_letters"]
    assert [(c["topic"], c["owner"], c["query"], c["reason"], c["letters"]) for c in counted] == [
        ("clicks.dead_letter", "source.web.clicks", "web_clicks", "not JSON", 3),
        ("clicks.dead_letter", "out", "web_clicks", "out: ZeroDivisionError", 1),
    ]
    assert counts(run_json, "web.clicks") == (3, 0, 0, 3)
    assert counts(run_json, "out") == (1, 0, 0, 1)
    assert counts(run_json, "clicks") == counts(run_json, "clicks.dead_letter") == (4, 0, 0, 4)
    text = run("dead-letters", "ls")[1].splitlines()
    assert text[0].split()[:7] == ["TOPIC", "OF", "REASON", "LETTERS", "REPLAYED", "DROPPED", "REMAINING"]
    assert len(text) == 3


def test_letters_are_chosen_by_reason_time_and_offset(letters, run_json):
    letters(1, 2, reason="not JSON: x")
    middle = time.time()
    letters(3, reason="kWh: y")
    letters(4, reason="kWh_total: y")
    letters(5, reason="meter.kWh: y; kWh2")
    shown = run_json("dead-letters", "show")["dead_letters"]
    positions = {letter["origin"]["offset"]: f"{letter['partition']}:{letter['offset']}" for letter in shown}
    middle = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(middle + 3600))

    def offsets(*options):
        return {
            letter["origin"]["offset"]
            for letter in run_json("dead-letters", "show", *options)["dead_letters"]
        }

    assert offsets("--reason", "NOT json") == {1, 2}
    assert offsets("--reason", "kwh") == {3}
    assert offsets("--reason", "meter.kWh") == {5}
    assert offsets("--reason", ": y") == {3, 4, 5}
    assert offsets("--offset", positions[3]) == {3}
    assert offsets("--offset", "0:0-99", "--offset", "1:0-99") == {1, 2, 3, 4, 5}
    assert offsets("--until", middle) == {1, 2, 3, 4, 5}
    assert offsets("--since", f"{middle}Z") == set()
    assert len(offsets("--limit", "2")) == 2


def test_a_letter_is_shown_without_harm_to_a_terminal(letters, run, run_json):
    letters(7, reason="not JSON: \x1b[2J", value=b'{"id": 7, "kind": "\xc2\x9b"}')
    letters(8, value=b"\x00\x1b\xff", owner="out")
    letters(9, value=b'{"id": "x', owner="out")
    text = run("dead-letters", "show")[1]
    assert "  from    clicks 1:7  2026-01-01 00:00:00Z\n" in text
    assert '  value   {"id": "x\n' in text
    assert not set(text) & {"\x1b", "\x9b", "\x00"}
    assert "reason  not JSON: \\x1b[2J" in text
    assert "header  trace=base64:/w==" in text
    first, last, _ = sorted(
        run_json("dead-letters", "show")["dead_letters"], key=lambda letter: letter["origin"]["offset"]
    )
    assert first["value"] == {"id": 7, "kind": "\x9b"}
    assert first["origin"] == {"topic": "clicks", "partition": 1, "offset": 7, "timestamp": TIMESTAMP}
    assert last["value"] == {"base64": "ABv/"}
    assert [header["key"] for header in last["headers"]] == ["trace", "trace", "empty"]


@pytest.mark.long
def test_a_replay_sends_the_original_records_once(letters, run, run_json, cluster):
    letters(0, 1, 2, more_headers=[("millstream.position", b"forged-0-0")])
    letters(1, owner="out", reason="out: x")  # the same record
    letters(4, value=b"", timestamp="not a time")
    planned = run_json("dead-letters", "replay", "clicks")
    assert (planned["records"], planned["sent"], planned["readers"]) == (4, False, {"clicks": ["out"]})
    assert read(cluster, "clicks") == []
    assert "would send 4 records to clicks" in run("dead-letters", "replay", "clicks")[1]

    done = run_json("dead-letters", "replay", "clicks", "--yes")
    assert (done["records"], done["sent"]) == (4, True)
    assert done["topics"][0]["letters"] == {"due": 4, "same record": 1}
    records = {message.key(): message for message in read(cluster, "clicks")}
    assert len(records) == len(read(cluster, "clicks")) == 4
    one = records[b"k1"]
    assert (one.value(), one.partition(), one.timestamp()[1]) == (b"value 1", 1, MILLIS)
    headers = [("trace", b"t"), ("trace", b"\xff"), ("empty", None)]
    assert one.headers() == [*headers, ("millstream.replayed", f"clicks-1-1@{TIMESTAMP}".encode())]
    assert records[b"k4"].value() == b""
    assert counts(run_json) == (5, 5, 0, 0)

    code, _, err = run("dead-letters", "replay", "clicks", "--yes")
    assert code == 2
    assert "MS838" in err
    assert len(read(cluster, "clicks")) == 4
    assert run_json("dead-letters", "replay", "clicks", "--yes", "--force")["records"] == 4
    assert len(read(cluster, "clicks")) == 8
    assert counts(run_json) == (5, 5, 0, 0)


def test_a_partition_that_is_gone_leaves_the_choice_to_the_key(letters, run_json, admin, cluster):
    letters(2)
    for future in admin.client.delete_topics(["clicks"]).values():
        future.result(10)
    while "clicks" in admin.metadata().topics:
        pass
    create_topics(cluster.bootstrap_servers, "clicks", partitions=1)
    assert run_json("dead-letters", "replay", "--yes")["records"] == 1
    assert [message.partition() for message in read(cluster, "clicks")] == [0]


@pytest.mark.long
def test_dropped_letters_are_neither_replayed_nor_counted_as_remaining(letters, run, run_json, cluster):
    letters(1, 2)
    letters(1, owner="out", reason="out: x")
    assert run_json("dead-letters", "drop", "out")["letters"] == 1
    assert counts(run_json) == (3, 0, 0, 3)
    assert run_json("dead-letters", "drop", "out", "--yes")["letters"] == 1
    assert counts(run_json) == (3, 0, 1, 2)
    assert "MS838" in run("dead-letters", "replay", "out")[2]
    assert run_json("dead-letters", "replay", "--yes")["records"] == 2, "the source's letter of it remains"
    assert counts(run_json) == (3, 3, 0, 0)
    assert run("dead-letters", "drop", "--yes")[1] == "no dead letters\n"


def test_deleting_leaves_what_remains(letters, run_json, admin, cluster):
    letters(*range(20))
    shown = run_json("dead-letters", "show", "--limit", "99")["dead_letters"]
    remaining = sorted(letter["offset"] for letter in shown if letter["partition"] == 0)[1]
    options = (
        "--offset",
        "1:0-999",
        "--offset",
        f"0:0-{remaining - 1}",
        "--offset",
        f"0:{remaining + 1}-999",
    )
    planned = run_json("dead-letters", "drop", *options, "--delete")
    assert len(read(cluster, "clicks.dead_letter")) == 20
    done = run_json("dead-letters", "drop", *options, "--delete", "--yes")
    assert planned["topics"] == done["topics"]
    left = [(m.partition(), m.offset()) for m in read(cluster, "clicks.dead_letter")]
    assert {number for number, _ in left} == {0}
    assert min(left) == (0, remaining), "Kafka deletes only the oldest records"
    assert counts(run_json) == (len(left), 0, len(left) - 1, 1)


def test_a_row_that_a_test_rejected_can_only_be_dropped(letters, run, run_json, cluster):
    create_topics(cluster.bootstrap_servers, "shop.out.dead_letter", partitions=1)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    headers = [("millstream.model", "out"), ("millstream.reason", "out: test positive")]
    producer.produce("shop.out.dead_letter", b"{}", headers=headers)
    assert producer.flush(10) == 0
    assert "MS830" in run("dead-letters", "replay", "out", "--yes")[2]
    assert run_json("dead-letters", "drop", "out", "--yes")["letters"] == 1
    assert counts(run_json, "out") == (1, 0, 1, 0)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["ls", "clcks"], "MS840", "did you mean 'clicks'?"),
        (["ls", "--yes"], "MS701", "--yes needs replay or drop"),
        (["drop", "--force"], "MS701", "--force needs replay"),
        (["show", "--since", "yesterday"], "MS701", "'yesterday' is not a time"),
        (["show", "--offset", "x"], "MS701", "'x' is not an offset"),
    ],
)
def test_mistakes(run, letters, arguments, code, text):
    exit_code, _, err = run("dead-letters", *arguments)
    assert exit_code == 2
    assert code in err
    assert text in err


def test_a_topic_that_is_gone_stops_the_replay(letters, run, run_json, admin):
    letters(1)
    for future in admin.client.delete_topics(["clicks"]).values():
        future.result(10)
    while "clicks" in admin.metadata().topics:
        pass
    assert "MS827" in run("dead-letters", "replay", "--yes")[2]
    assert counts(run_json) == (1, 0, 0, 1)


@pytest.mark.long
def test_a_killed_replay_goes_on_and_sends_each_record_once(letters, run_json, admin, cluster, shop):
    count = 20_000
    letters(*range(count))
    command = [*MILLSTREAM, "dead-letters", "replay", "clicks", "--yes", "--output", "json"]
    killed = 0
    while True:
        # The first time after a commit, so that there is something to go on from; then within transactions.
        level = IsolationLevel.READ_UNCOMMITTED if killed else IsolationLevel.READ_COMMITTED
        before = ends(admin, level)
        replay = subprocess.Popen(command, cwd=shop, stdout=subprocess.PIPE, text=True)
        while replay.poll() is None and ends(admin, level) == before:
            pass
        if killed == 5:
            break
        replay.kill()
        replay.communicate()
        killed += 1
    text, _ = replay.communicate(timeout=120)
    assert replay.returncode == 0
    assert 0 < json.loads(text)["records"] < count, "it continued"
    by_key = Counter(message.key() for message in read(cluster, "clicks"))
    assert len(by_key) == count
    assert set(by_key.values()) == {1}
    assert counts(run_json) == (count, count, 0, 0)


@pytest.mark.long
def test_of_two_replays_at_a_time_the_later_one_goes_on(letters, run_json, cluster, shop):
    count = 20_000
    letters(*range(count))
    command = [*MILLSTREAM, "dead-letters", "replay", "clicks", "--yes"]
    both = [
        subprocess.Popen(command, cwd=shop, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    text = [process.communicate(timeout=120) for process in both]
    codes = [process.returncode for process in both]
    assert 0 in codes, text
    for code, (_, err) in zip(codes, text, strict=True):
        assert code == 0 or "MS839" in err or "MS838" in err, err
        assert "Traceback" not in err
    by_key = Counter(message.key() for message in read(cluster, "clicks"))
    assert (len(by_key), set(by_key.values())) == (count, {1})
    assert counts(run_json) == (count, count, 0, 0)
