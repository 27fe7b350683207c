"""Remedies of commands that send records: test traffic, and dead letters."""

import re

import pytest
from confluent_kafka import Producer
from kafka.test_dead_letters_replayed import counts, read
from kafka.test_dead_letters_replayed import letters as letters  # noqa: PLC0414 - a fixture
from support.runs import create_topics

REAL = "shop:\n  outputs:\n    local: {{}}\n    real: {{kafka: {{bootstrap_servers: '{}'}}}}\n"


@pytest.fixture
def refused(run):
    """Return the code and the remedy of a command that is refused."""

    def call(*arguments):
        code, _, err = run(*arguments)
        assert code == 2
        return re.search(r"error\[(\w+)\]", err)[1], err.partition("= help: ")[2].strip()

    return call


@pytest.fixture
def files(shop):
    """Write files of the project for a test."""
    written = []

    def write(path, text):
        (shop / path).write_text(text)
        written.append(shop / path)

    yield write
    for file in dict.fromkeys(written):
        file.unlink()


def test_a_source_without_a_generator_gets_one(refused, run, files, cluster):
    remedy = "write `def silent(random, now)` in a file of seeds/"
    assert refused("produce", "silent") == ("MS834", remedy)
    files("seeds/silent.py", "def silent(random, now):\n    yield None, 'said'\n")
    code, _, err = run("produce", "silent")
    assert (code, [message.value() for message in read(cluster, "silent")]) == (0, [b"said"]), err


def test_a_cluster_of_its_own_is_not_seeded(refused, run, files, cluster):
    files("profiles.yml", REAL.format(cluster.bootstrap_servers))
    code, remedy = refused("seed", "--target", "real")
    assert code == "MS837"
    assert remedy.startswith(
        "use a target with `kafka: embedded`, or send traffic with `millstream produce -t real"
    )
    assert run("seed", "--target", "local")[0] == 0
    assert run("produce", "ticks", "--count", "1", "-t", "real")[0] == 0


def test_a_cluster_that_does_not_answer(refused, run, files, cluster):
    assert run("seed", "ticks")[0] == 0
    files("profiles.yml", REAL.format("127.0.0.1:1"))
    remedy = "check bootstrap_servers, and that security_protocol fits the cluster's port"
    assert refused("consume", "ticks", "-t", "real") == ("MS822", remedy)
    files("profiles.yml", REAL.format(cluster.bootstrap_servers))
    assert run("consume", "ticks", "-t", "real")[0] == 0


def test_an_environment_gets_no_test_traffic(refused, run, files):
    files("profiles.yml", "shop:\n  outputs:\n    local: {}\n    mine: {environment: alice}\n")
    code, remedy = refused("seed", "-t", "mine")
    assert code == "MS712"
    assert remedy == "use a target without `environment:`, and leave out --environment"
    assert run("seed", "-t", "local")[0] == 0


def test_letters_that_were_replayed_are_sent_again_by_force(letters, refused, run_json, cluster):
    letters(1)
    assert run_json("dead-letters", "replay", "clicks", "--yes")["records"] == 1
    assert refused("dead-letters", "replay", "clicks", "--yes") == (
        "MS838",
        "add --force to send their records again",
    )
    assert run_json("dead-letters", "replay", "clicks", "--yes", "--force")["records"] == 1
    assert len(read(cluster, "clicks")) == 2


def test_rows_that_a_test_rejected_are_dropped(letters, refused, run_json, cluster):
    create_topics(cluster.bootstrap_servers, "shop.out.dead_letter", partitions=1)
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
    headers = [("millstream.model", "out"), ("millstream.reason", "out: test positive")]
    producer.produce("shop.out.dead_letter", b"{}", headers=headers)
    assert producer.flush(10) == 0
    code, remedy = refused("dead-letters", "replay", "out", "--yes")
    assert (code, remedy) == ("MS830", "fix the model or its test and rebuild it, or drop the letters")
    assert run_json("dead-letters", "drop", "out", "--yes")["letters"] == 1
    assert counts(run_json, "out") == (1, 0, 1, 0)


def test_letters_of_a_topic_that_is_gone_are_replayed_once_it_is_there(
    letters, refused, run_json, admin, cluster
):
    letters(1)
    for future in admin.client.delete_topics(["clicks"]).values():
        future.result(10)
    while "clicks" in admin.metadata().topics:
        pass
    assert refused("dead-letters", "replay", "--yes") == ("MS827", "create it, or drop the letters")
    create_topics(cluster.bootstrap_servers, "clicks", partitions=3)
    assert run_json("dead-letters", "replay", "--yes")["records"] == 1
    assert len(read(cluster, "clicks")) == 1
