"""Unit tests before a build and data tests after it, as a user starts the command."""

import json
import os
import re
import subprocess

import pytest
from support.commands import MILLSTREAM
from support.runs import create_topics
from support.shops import TOTALS, Shop, event

from millstream.local.broker import keep_broker, stop_broker

pytestmark = pytest.mark.long

UNITS = """
    unit_tests:
      - name: sums
        model: totals
        given: [{input: source.web.events, rows: [{user: a, value: 1.5}, {user: a, value: 2}]}]
        expect: [{user: a, total: 3.5}]
      - name: doubles
        model: twice
        given: [{input: source.web.events, rows: [{id: 2}]}]
        expect: [{id: 4}]
      - name: scaled
        model: twice
        vars: {factor: 3}
        given: [{input: source.web.events, rows: {fixture: ids}}]
        expect: [{id: 6}]
    models:
      - name: totals
        columns: [{name: user, tests: [unique]}]
      - name: twice
        columns: [{name: id, tests: [not_null]}]
"""
TWICE = "{{ config(materialized='sink') }} select id * {{ var('factor') }} as id from {{ source('web', 'events') }}"


@pytest.fixture
def shop(tmp_path):
    shop = Shop(tmp_path, keep_broker(tmp_path).address)
    try:
        create_topics(shop.bootstrap, "events", partitions=1)
        with (tmp_path / "pyproject.toml").open("a") as file:
            file.write("vars = {factor = 2}\n")
        shop.write("tests/units.yml", UNITS)
        shop.write("tests/fixtures/ids.csv", "id\n2\n")
        shop.model("totals", TOTALS)
        shop.model("twice", TWICE)
        shop.send(event(1), event(2))
        yield shop
    finally:
        stop_broker(tmp_path, force=True)


def build(shop, *options, code=0):
    done = subprocess.run(
        [*MILLSTREAM, "build", "--output", "json", *options],
        cwd=shop.root,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return json.loads(done.stdout)


def ended(output):
    """Return the status of each test, and those that were not run."""
    tests = output.get("tests", ())
    short = {test["id"].rpartition(".")[2]: test for test in tests}
    return (
        {name: test["status"] for name, test in short.items()},
        {name for name, test in short.items() if test["unchanged"]},
    )


PASSED = dict.fromkeys(("sums", "doubles", "scaled", "unique_totals_user", "not_null_twice_id"), "pass")


def test_data_tests_are_shown_below_the_line_of_their_model(shop):
    done = subprocess.run(
        [*MILLSTREAM, "build"], cwd=shop.root, env=os.environ, stderr=subprocess.PIPE, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stderr.splitlines()]
    of_models = [
        index
        for index, words in enumerate(lines)
        if words[:2] in (["✓", "totals"], ["✓", "twice"]) and "read" in words
    ]
    assert [
        [lines[index][1], *lines[index + 1][:5]]
        for index in sorted(of_models, key=lambda index: lines[index])
    ] == [
        ["totals", "✓", "totals", "1", "data", "test"],
        ["twice", "✓", "twice", "1", "data", "test"],
    ]
    times = [float(seconds) for seconds in re.findall(r"([\d.]+) s\b", done.stderr.splitlines()[-1])]
    assert times[0] == pytest.approx(sum(times[1:]))
    assert len(times) in {4, 5}  # the end may be too short to be named


def test_tests_run_before_and_after_and_only_when_something_changed(shop):
    shop.model("twice", TWICE.replace("* {{ var('factor') }}", "+ 2"))
    output = build(shop, code=1)
    assert ended(output) == ({"sums": "pass", "doubles": "pass", "scaled": "fail"}, set())
    assert {result["status"] for result in output["results"]} == {"skipped"}
    assert not (shop.root / ".millstream/local/checkpoints/totals").exists()

    shop.model("twice", TWICE)
    assert ended(build(shop)) == (PASSED, {"sums"})
    assert ended(build(shop)) == (PASSED, PASSED.keys())
    assert ended(build(shop, "--no-unit")) == (
        dict.fromkeys(("unique_totals_user", "not_null_twice_id"), "pass"),
        {"unique_totals_user", "not_null_twice_id"},
    )
    assert ended(build(shop, "--all-tests")) == (PASSED, set())
    assert ended(build(shop, "--no-tests")) == ({}, set())
    shop.send(event(3))
    assert ended(build(shop, "--select", "totals")) == (
        {"sums": "pass", "unique_totals_user": "pass"},
        {"sums"},
    )
    shop.write("tests/units.yml", UNITS.replace("total: 3.5", "total: 3"))
    assert ended(build(shop, "--select", "totals", code=1)) == ({"sums": "fail"}, set())
    shop.write("tests/units.yml", UNITS.replace("user: a, value: 2", "usr: a, value: 2"))
    assert ended(build(shop, "--select", "totals", code=2)) == ({"sums": "error"}, set())
