"""`millstream broker`."""

import os

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs flock")


def test_no_broker(run, shop):
    assert run("broker", "status").out == "the broker is not running\n"
    assert run("broker", "stop").out == "the broker is not running\n"
    assert run("broker", "status", "--output", "json").json["broker"]["state"] == "stopped"


@pytest.mark.long
def test_a_broker_from_start_to_stop(run, shop):
    started = run("broker", "start", "--output", "json").json["broker"]
    try:
        assert (started["state"], started["kept"], started["used"]) == ("running", True, False)
        message = run("broker", "status").out
        assert message.startswith(
            f"running at {started['bootstrap_servers']} (process {started['pid']}), idle, until"
        )
    finally:
        stopped = run("broker", "stop")
    assert stopped.out == "the broker is stopped\n"
    assert run("broker", "status").out == "the broker is not running\n"


def test_without_java(run, shop, monkeypatch, tmp_path):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    result = run("broker", "start")
    assert result.code == 2
    assert "error[MS801]: Java: not found in JAVA_HOME" in result.err


def test_an_unknown_action(run, shop):
    assert run("broker", "restart").code == 2


@pytest.mark.parametrize("name", [b"two\nlines", b"not utf-8 \xff"])
def test_a_folder_that_java_can_not_open(run, shop, monkeypatch, name):
    monkeypatch.chdir(shop.rename(shop.with_name(os.fsdecode(name))))
    assert run("compile").code == 0
    result = run("broker", "start")
    assert result.code == 2
    assert "error[MS820]: Java can't use the folder" in result.err
