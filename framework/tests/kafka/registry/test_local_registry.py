"""The registry of the local target: its ids, its pins, and the Java that it needs."""

import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference
from support.registry import client_of, needs_java

from millstream.core.errors import MillstreamError
from millstream.kafka.registry.client import Registry
from millstream.kafka.registry.local import local_address, registry_status, registry_url, shared_registry
from millstream.local import java
from millstream.project.pins import SchemaReference as Reference
from millstream.project.pins import Subject, version_of

A1 = '{"type": "record", "name": "A", "fields": [{"name": "x", "type": "long"}]}'
A2 = '{"type": "record", "name": "A", "fields": [{"name": "x", "type": "long"}, {"name": "y", "type": "long", "default": 1}]}'
B = '{"type":"record","name":"B","fields":[{"name":"a","type":"A"}]}'
PROTO = 'syntax = "proto3";\nmessage M {\n  int32 a = 1;\n}\n'
JSON = '{"type": "object", "properties": {"größe": {"type": "number", "minimum": 1.10}}}'

PINS = {
    subject.subject: subject
    for subject in (
        Subject("A's/x y", "NONE", (version_of(3, 70, "AVRO", A1), version_of(5, 900, "AVRO", A2))),
        Subject("b-value", "FULL", (version_of(1, 12, "AVRO", B, [Reference("A", "A's/x y", 3)]),)),
        Subject("j-value", "BACKWARD", (version_of(1, 71, "JSON", JSON),)),
        Subject(
            "p-value",
            "FORWARD_TRANSITIVE",
            (version_of(1, 13, "PROTOBUF", PROTO), version_of(2, 14, "PROTOBUF", PROTO + "\n", deleted=True)),
        ),
    )
}


@pytest.mark.long
@needs_java
def test_a_new_registry_has_the_pins_and_keeps_their_ids(tmp_path):
    with shared_registry(tmp_path, PINS) as server:
        connection = Registry(local_address(server))
        assert {name: connection.subject(name) for name in PINS} == PINS
        connection.close()
        with client_of(registry_url(server.address)) as client:
            assert sorted(client.get_subjects()) == sorted(PINS)
            # Producers that register what they have already get the pinned ids, others new ones.
            assert client.register_schema("A's/x y", Schema(A2, "AVRO")) == 900
            refer = [SchemaReference("A", "A's/x y", 3)]
            assert client.register_schema("b-value", Schema(B, "AVRO", refer)) == 12
            assert client.register_schema("p-value", Schema(PROTO, "PROTOBUF")) == 13
            fresh = client.register_schema("new-value", Schema('{"type":"object","properties":{}}', "JSON"))
            assert fresh > 900
    assert registry_status(tmp_path).state == "stopped"
    # It was stopped, and starts with what it had, whatever is pinned by now.
    with (
        shared_registry(tmp_path, {}) as server,
        client_of(registry_url(server.address)) as client,
    ):
        assert client.get_latest_version("new-value").schema_id == fresh
        assert client.get_latest_version("A's/x y").schema_id == 900


@pytest.mark.long
@needs_java
def test_broker_start_status_and_stop(run, monkeypatch, tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.millstream]\nname = "shop"\n')
    (tmp_path / "models/s.yml").write_text(
        "sources: [{name: s, topics: [{name: t, columns: [{name: a, type: int}]}]}]\n"
    )
    monkeypatch.chdir(tmp_path)
    try:
        assert "schema registry" not in run("broker", "start").out
        (tmp_path / "models/s.yml").write_text(
            "sources: [{name: s, topics: [{name: t, schema: registry}]}]\n"
        )
        started = run("broker", "start", "--output", "json").json["registry"]
        assert (started["state"], started["kept"]) == ("running", True)
        assert f"schema registry running at {started['url']} (process " in run("broker", "status").out
        with client_of(started["url"]) as client:
            client.register_schema("t-value", Schema('{"type": "object", "properties": {"a": {}}}', "JSON"))
        assert run("schemas", "pull").code == 0
    finally:
        assert run("broker", "stop").out == "the broker is stopped\n"
    status = run("broker", "status", "--output", "json").json
    assert (status["broker"]["state"], status["registry"]["state"]) == ("stopped", "stopped")
    assert run("compile").code == 0  # without any registry
    assert run("clean", "--yes").code == 0
    assert not (tmp_path / ".millstream").exists()


def test_only_an_older_java(run, monkeypatch, tmp_path):
    """Pins are read without the registry; what needs it says which Java it needs."""
    older_only = java.find_java()
    monkeypatch.setattr("millstream.local.java._HOMES", ())
    old = java.JavaInstallation(older_only.program, "17.0.15", 17)
    monkeypatch.setattr("millstream.local.java.find_java", lambda: old)
    monkeypatch.setattr("millstream.kafka.registry.local.apicurio.find_java", lambda: old)
    with (
        pytest.raises(MillstreamError, match=r"MS816.*needs Java 21 or newer; found 17\.0\.15"),
        shared_registry(tmp_path, {}),
    ):
        pass


def test_the_newest_of_several_javas(monkeypatch, tmp_path):
    for name, version in (("a", "21.0.4"), ("b", "25.0.3"), ("c", "1.8.0_402"), ("d", "no")):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin/java").write_text("")
        (tmp_path / name / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    monkeypatch.setattr("millstream.local.java._HOMES", (str(tmp_path / "*"),))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    newest = java.newest_java(21)
    assert (newest.program, newest.major) == (tmp_path / "b/bin/java", 25)
    assert java.newest_java(26) is None
