"""`millstream debug`."""

import os
import socket

import pytest
from support.postgres import free_port

from millstream.cli.commands.debug import DebugCheck, check_java, flatten_settings, format_check
from millstream.core.byte_sizes import size_in_words
from millstream.project.secrets import Secret


def checks(result):
    return {check["name"]: check for check in result.json["checks"]}


def test_all_is_well(run, shop):
    result = run("debug")
    assert result.code == 0
    assert f"✓ project    shop in {shop}" in result.out
    assert "✓ files      2 models, 2 YAML files" in result.out


def test_the_chosen_target_is_shown_without_its_secrets(run, shop, monkeypatch):
    (shop / "profiles.yml").write_text(
        "shop:\n  target: local\n  outputs:\n    local: {}\n    live:\n      kafka:\n"
        "        bootstrap_servers: \"{{ env_var('BROKERS') }}\"\n"
        "        security_protocol: SASL_SSL\n        sasl_mechanism: PLAIN\n"
        "        sasl_username: ann\n"
        "        sasl_password: \"{{ env_var('KAFKA_PASSWORD') }}\"\n"
        "      spark: {spark.hadoop.fs.s3a.secret.key: hunter2}\n"
    )
    monkeypatch.setenv("BROKERS", "example:9092")
    monkeypatch.setenv("KAFKA_PASSWORD", "swordfish")
    result = run("debug", "--target", "live")
    assert "✓ target     live of profile shop" in result.out
    assert "kafka.sasl_username: ann" in result.out
    assert "kafka.sasl_password: ****" in result.out
    assert "swordfish" not in result.out + result.err
    assert "hunter2" not in result.out + result.err


def test_a_missing_variable_is_named_with_its_place(run, shop, monkeypatch):
    monkeypatch.delenv("BROKERS", raising=False)
    (shop / "profiles.yml").write_text(
        "shop:\n  outputs:\n    local: {master: \"{{ env_var('BROKERS') }}\"}\n"
    )
    result = run("debug", "--output", "json")
    assert result.code == 2
    assert checks(result)["target"]["state"] == "bad"
    assert "'BROKERS' is not set (profiles.yml:3:" in checks(result)["target"]["found"]


def test_what_a_target_names_must_answer(run, shop, monkeypatch):
    monkeypatch.setattr("millstream.kafka.clients.PATIENCE", 2.0)
    closed = free_port()
    address = f"127.0.0.1:{closed}"
    (shop / "profiles.yml").write_text(
        f"shop:\n  outputs:\n    local:\n      master: spark://{address}\n"
        f"      kafka: {{bootstrap_servers: '{address}'}}\n"
        f"      tables: {{store: postgres, url: 'postgresql://{address}/shop', username: a}}\n"
        f"      schema_registry: {{url: 'http://{address}'}}\n"
    )
    result = run("debug", "--output", "json")
    assert result.code == 2
    tried = checks(result)
    assert tried["target"]["state"] == "good"
    for name in ("Kafka", "PostgreSQL", "registry", "Spark"):
        assert (tried[name]["state"], bool(tried[name]["remedy"])) == ("bad", True), name
        assert str(closed) in tried[name]["found"], name


def test_a_spark_master_that_answers(run, shop):
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"spark://nowhere.invalid:7077,127.0.0.1:{server.getsockname()[1]}"
        (shop / "profiles.yml").write_text(f"shop:\n  outputs:\n    local: {{master: '{address}'}}\n")
        result = run("debug", "--output", "json")
    assert checks(result)["Spark"]["found"] == f"{address} answers"
    assert result.code == 0


def test_an_unknown_target(run, shop):
    (shop / "profiles.yml").write_text("shop:\n  outputs:\n    local: {}\n")
    result = run("debug", "--target", "locl")
    assert result.code == 2
    assert "did you mean 'local'?" in result.out


def test_no_project(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("debug")
    assert result.code == 2
    assert "✗ project" in result.out
    assert "millstream init" in result.out


def test_no_models(run, shop):
    for path in (shop / "models").rglob("*.sql"):
        path.unlink()
    result = run("debug")
    assert result.code == 2
    assert "✗ files      0 models" in result.out


@pytest.mark.skipif(os.name == "nt", reason="needs sh")
@pytest.mark.parametrize(
    ("says", "state", "finding"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "good", "17.0.15 at "),
        ('java version "1.8.0_432"', "warning", "1.8.0_432 at "),
        ("Usage: whatever", "warning", "does not report a version"),
    ],
)
def test_java_by_its_own_word(tmp_path, monkeypatch, says, state, finding):
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/java"
    program.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    check = check_java()
    assert check.state == state
    assert finding in check.finding


def test_without_java_there_is_a_warning_with_a_remedy(run, shop, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    result = run("debug", "--output", "json")
    assert result.code == 0
    assert checks(result)["Java"]["state"] == "warning"
    assert "Java 17 or newer" in checks(result)["Java"]["remedy"]


def test_options_of_spark_are_named_as_spark_names_them():
    settings = {"spark": {"spark.driver.host": "h", "driver.memory": "2g"}}
    assert dict(flatten_settings(settings)) == {"spark.driver.host": "h", "spark.driver.memory": "2g"}


def test_what_is_named_like_a_secret_is_masked_wherever_it_came_from():
    assert dict(flatten_settings({"a": {"sasl_password": "x", "user": "ann"}, "b": Secret("y")})) == {
        "a.sasl_password": "****",
        "a.user": "ann",
        "b": "****",
    }


def test_a_remedy_stands_below_its_check():
    assert format_check(DebugCheck("Java", "bad", "not found", "install it")).plain == (
        "✗ Java       not found\n             install it"
    )


def test_quiet_shows_what_is_wrong_only(run, shop):
    assert run("debug", "--quiet").out == ""


def test_the_cache_is_what_compile_keeps(run, shop):
    assert checks(run("debug", "--output", "json"))["cache"]["found"] == "nothing yet in target/cache/"
    run("compile")
    size = sum(file.stat().st_size for file in (shop / "target/cache").iterdir())
    assert checks(run("debug", "--output", "json"))["cache"]["found"] == (
        f"{size_in_words(size)} in target/cache/"
    )


def test_jars_that_are_still_to_be_fetched(run, shop, monkeypatch, tmp_path):
    monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(tmp_path / "cache"))
    check = checks(run("debug", "--output", "json"))["jars"]
    assert check["found"].startswith("0 of ")
    assert check["found"].endswith(str(tmp_path / "cache/jars"))
    assert "--fetch" in check["details"][0]


def test_fetch_tells_what_fails(run, shop, monkeypatch, tmp_path):
    monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", (tmp_path / "mirror").as_uri())
    result = run("debug", "--fetch")
    assert result.code == 2
    assert "✗ jars" in result.out
    assert "MILLSTREAM_MAVEN_REPOSITORY" in result.out
