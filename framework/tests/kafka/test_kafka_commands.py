"""`produce`, `seed` and `consume` against the project's local broker."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from millstream.core.node_id import NodeId
from millstream.kafka.topics import TopicConfig, create_missing
from millstream.results.run_results import ModelResult, RunResults, write_results


@pytest.fixture(scope="module")
def filled(shop, cluster, admin):
    """Produce once, and return the summary."""
    from click.testing import CliRunner

    from millstream.cli.group import millstream

    arguments = ["produce", "--project-dir", str(shop), "--count", "30", "--output", "json"]
    return json.loads(CliRunner().invoke(millstream, arguments).stdout)


def test_produce_tells_what_it_did(filled, admin):
    written = {
        topic["source"]: (topic["topic"], topic["records"], topic["created"]) for topic in filled["topics"]
    }
    assert written == {
        "web.clicks": ("clicks", 30, True), "web.lines": ("lines", 5, True), "web.ticks": ("ticks", 30, True),
    }  # fmt: skip
    assert (filled["records"], filled["seed"], filled["start"]) == (65, 1, "2026-01-01T00:00:00+00:00")
    assert len(admin.metadata().topics["clicks"].partitions) == 3


def test_the_newest_records_are_shown(run, filled):
    code, out, err = run("consume", "clicks")
    assert (code, err) == (0, "")
    assert [json.loads(line)["id"] for line in out.splitlines()] == [*range(21, 31)]


def test_records_that_were_sent_again_are_left_out(run, filled, cluster, admin):
    create_missing(admin, [TopicConfig("repeats", 2)])
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    records = [
        ("a", "in-0-7", "q/a/1"), ("b", "in-0-7", "q/a/2"),  # the second one is sent again
        ("c", "in-1-7", "q/a/2"), ("d", "in-0-7", "q/b/0"),  # another partition; a rebuild
        ("e", "in-0-7", None), ("f", "in-0-7", None),  # of a version without this header
        ("g", None, "q/a/2"), ("h", None, "q/a/2"), ("i", "in-0-x", "q/a/2"),
    ]  # fmt: skip
    for number, (value, position, batch) in enumerate(records):
        headers = {"millstream.position": position, "millstream.batch": batch}
        sent = {name: text for name, text in headers.items() if text is not None}
        producer.produce("repeats", value, partition=number // 5, headers=sent)
    assert producer.flush(20) == 0
    code, out, err = run("consume", "repeats", "--from-beginning", "--deduplicate")
    assert (code, "".join(sorted(out.split()))) in {(0, "acdeghi"), (0, "acdfghi")}
    assert err == "Left out 2 repeated records. 3 have no position: repeats among them are shown.\n"


@pytest.mark.parametrize("name", ["ticks", "web.ticks"])
def test_a_topic_by_each_of_its_names_with_keys(run, filled, name):
    assert run("consume", name, "--last", "2", "--keys")[1] == "28\t56\n29\t58\n"


def test_json_is_one_object_a_line(run, filled):
    lines = run("consume", "lines", "--from-beginning", "--output", "json")[1].splitlines()
    first = json.loads(lines[0])
    assert len(lines) == 5
    assert first.pop("timestamp").endswith("Z")
    assert first == {
        "topic": "lines",
        "partition": 0,
        "offset": 0,
        "key": None,
        "value": {"a": 0, "b": "x,0"},
    }


def test_csv_has_the_columns_of_the_source(run, filled):
    lines = run("consume", "lines", "--from-beginning", "--count", "1", "--output", "csv")[1].splitlines()
    assert lines[0] == "_partition,_offset,_timestamp,_key,a,b,_undecodable"
    assert lines[1].startswith("0,0,")
    assert lines[1].endswith(',,0,"x,0",')


def test_several_topics_are_told_apart(run, filled):
    lines = run("consume", "ticks", "lines", "--last", "1")[1].splitlines()
    assert [line.split("\t")[0] for line in lines] == ["ticks", "lines"]


def test_a_file_instead_of_the_terminal(run, filled, tmp_path):
    file = tmp_path / "out.jsonl"
    code, out, _ = run("consume", "ticks", "--from-beginning", "--to", str(file))
    assert (code, out) == (0, f"Wrote 30 records to {file}.\n")
    assert file.read_text().splitlines() == [str(2 * n) for n in range(30)]
    code, _, err = run("consume", "ticks", "--to", str(tmp_path / "no" / "x"))
    assert (code, "MS702" in err) == (2, True)


def test_a_sink_is_decoded_by_its_model(run, admin, put):
    create_missing(admin, [TopicConfig("shop.out")])
    put("shop.out", b'{"id":1,"kind":"a"}', b"not json", None, key=b"1")
    code, out, _ = run("consume", "out", "--keys")
    assert code == 0
    assert out.splitlines() == [
        '1\t{"id":1,"kind":"a"}',
        "1\tbase64:bm90IGpzb24= (not JSON: Expecting value)",
        "1\tnull",
    ]
    records = [json.loads(line) for line in run("consume", "shop.out", "--output", "json")[1].splitlines()]
    assert records[1]["value"] == {"base64": "bm90IGpzb24="}
    assert records[1]["undecodable"]["value"].startswith("not JSON")
    assert [record["key"] for record in records] == [1, 1, 1]


def test_a_sink_whose_last_build_failed_is_shown_with_a_warning(run, filled, shop, admin, put):
    """As `show` does: the records are those from before."""
    create_missing(admin, [TopicConfig("shop.out")])
    put("shop.out", b'{"id":7}', key=b"1")
    failed = ModelResult(NodeId("model", "out"), "error", "out", message="MS868: 1 / 0")
    write_results(shop / "target", RunResults("build", "shop", "local", "2026-01-01", 1.0, (failed,)))
    try:
        for topic in ("out", "shop.out"):
            code, out, err = run("consume", topic, "--last", "1")
            assert (code, out) == (0, '{"id":7}\n')
            assert "warning[MS615]: the last build of 'out' failed: its rows are those from before" in err
            assert "MS868: 1 / 0" in err
        first, second = map(
            json.loads, run("consume", "out", "--last", "1", "--output", "json")[1].splitlines()
        )
        assert [diagnostic["code"] for diagnostic in first["diagnostics"]] == ["MS615"]
        assert second["value"] == {"id": 7}
        assert run("consume", "clicks", "--last", "1")[2] == ""
        assert run("consume", "out", "--last", "1", "--quiet")[2] == ""
    finally:
        (shop / "target/run_results.json").unlink()


def test_control_characters_do_nothing_to_a_terminal(run, admin, put, name):
    create_missing(admin, [TopicConfig(name)])
    put(name, "a\x1b[2Jb\nc\x9b".encode(), b"\x00\xff", '{"a": "\x9b"}'.encode())
    assert run("consume", name)[1].splitlines() == [
        "base64:YRtbMkpiCmPCmw==", "base64:AP8=", '{"a":"\\x9b"}',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["consume", "clcks"], "MS827", "did you mean 'clicks'?"),
        (["consume", "silent"], "MS827", "'silent' does not exist yet"),
        (["consume", "seen"], "MS836", "'seen' is a view, not a topic"),
        (["consume", "clicks", "--last", "1", "--from-beginning"], "MS701", "exclude each other"),
        (["consume", "a", "b", "--output", "csv"], "MS701", "takes a single topic"),
        (["consume", "clicks", "--deduplicate"], "MS701", "needs --from-beginning"),
        (["produce", "clcks"], "MS834", "did you mean 'clicks'?"),
        (["produce", "silent"], "MS834", "has no generator"),
        (["produce", "--rate", "1", "--interval", "1"], "MS701", "exclude each other"),
        (["produce", "--speed", "2"], "MS701", "--speed needs --rate"),
        (["produce", "--count", "0"], "MS701", "count"),
        (["seed", "clcks"], "MS834", "did you mean 'clicks'?"),
    ],
)
def test_mistakes(run, filled, arguments, code, message):
    exit_code, _, err = run(*arguments)
    assert exit_code == 2
    assert code in err
    assert message in err
    assert "Traceback" not in err


def test_mistakes_of_consume_are_a_line_of_json_too(run_json, filled):
    assert run_json("consume", "clcks")["diagnostics"][0]["code"] == "MS827"


def test_seed_fills_what_is_empty_and_leaves_the_rest(run_json, filled):
    assert run_json("seed")["filled"] == {}
    assert run_json("seed", "clicks")["left"] == ["clicks"]


def test_only_the_local_broker_is_seeded(run, shop, cluster):
    profiles = shop / "profiles.yml"
    profiles.write_text(
        "shop:\n  outputs:\n    local: {}\n    real: {kafka: {bootstrap_servers: "
        f"'{cluster.bootstrap_servers}'" + "}}\n"
    )
    try:
        from millstream.core.errors import MillstreamError

        result = _invoke(shop, "seed", "--target", "real")
        assert isinstance(result.exception, MillstreamError)
        assert result.exception.diagnostics[0].code == "MS837"
        result = _invoke(shop, "consume", "ticks", "--target", "real", "--last", "1")
        assert (result.exit_code, result.stdout) == (0, "58\n")
    finally:
        profiles.unlink()


def _invoke(shop, command, *arguments):
    from click.testing import CliRunner

    from millstream.cli.group import millstream

    return CliRunner().invoke(
        millstream, [command, "--project-dir", str(shop), *arguments], standalone_mode=False
    )


@pytest.fixture
def next_records(cluster):
    """Return a function that waits until a topic has so many more records."""

    @contextmanager
    def of(topic):
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "next"})
        positions = [
            TopicPartition(topic, number) for number in consumer.list_topics(topic).topics[topic].partitions
        ]
        for partition in positions:
            partition.offset = consumer.get_watermark_offsets(partition)[1]
        consumer.assign(positions)

        def wait_for(count):
            assert len(consumer.consume(count, timeout=60)) == count

        yield wait_for
        consumer.close()

    return of


@pytest.fixture
def process(shop, filled):
    started = []

    def start(*arguments):
        command = [
            sys.executable,
            "-m",
            "millstream",
            arguments[0],
            "--project-dir",
            str(shop),
            *arguments[1:],
        ]
        env = {**os.environ, "PYTHONUNBUFFERED": "1"}
        started.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_follow_goes_on_until_it_is_interrupted(process, put):
    reader = process("consume", "ticks", "--follow", "--last", "1")
    assert reader.stdout.readline() == "58\n"
    put("ticks", (99).to_bytes(8, "big"))
    assert reader.stdout.readline() == "99\n"
    reader.send_signal(signal.SIGINT)
    _, err = reader.communicate(timeout=20)
    assert (reader.returncode, err) == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_live_traffic_goes_on_until_it_is_interrupted(process, next_records, number):
    with next_records("ticks") as wait_for:
        writer = process("produce", "ticks", "--interval", "0.01", "--output", "json")
        wait_for(11)
    writer.send_signal(number)
    out, err = writer.communicate(timeout=20)
    output = json.loads(out)
    assert (writer.returncode, err, output["interrupted"]) == (0, "", True)
    assert output["records"] > 10
    assert output["start"] > "2026-01-02"


def test_a_reader_that_has_seen_enough_is_no_mistake(process):
    reader = process("consume", "ticks", "--follow", "--from-beginning")
    assert reader.stdout.readline() == "0\n"
    reader.stdout.close()
    put_more = process("produce", "ticks", "--count", "3")
    put_more.communicate(timeout=30)
    assert reader.wait(30) == 0
    assert reader.stderr.read() == ""


def test_live_traffic_goes_on_where_the_topic_ends_also_in_time(run, filled):
    before = time.time() * 1000
    for _ in range(2):
        code, out, _ = run(
            "produce", "clicks", "--rate", "2000", "--speed", "36000", "--count", "50", "--output", "json"
        )
        assert (code, json.loads(out)["records"]) == (0, 50)
    shown = run("consume", "clicks", "--last", "100")[1].splitlines()
    records = sorted((record["id"], record["ms"]) for record in map(json.loads, shown))
    assert [number for number, _ in records] == [*range(31, 131)]
    times = [milliseconds for _, milliseconds in records]
    assert times == sorted(times)
    assert times[0] >= before - 1000
    # Fifty records in 25 milliseconds are at least ten minutes apart.
    assert times[49] - times[0] > 600_000 < times[99] - times[50]
