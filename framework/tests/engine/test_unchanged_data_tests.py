"""Data tests that passed and need not run again, and each change after which they must."""

import json
import os
import subprocess

import pytest
from support.commands import MILLSTREAM
from support.runs import built, create_topics
from support.shops import TOTALS, Shop, event
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project
from millstream.local.broker import keep_broker, stop_broker
from millstream.project.load import load_project
from millstream.testing.data.contents import contents_of

pytestmark = SPARK_WARNINGS

TESTS = """
    models:
      - name: totals
        columns:
          - {name: user, tests: [unique, {relationships: {to: "ref('users')", field: user}}]}
          - {name: total, tests: [{expression: "total >= 0"}]}
        tests: [{row_count: {min: 1, max: 1}}]
      - name: seen
        columns: [{name: id, tests: [not_null]}]
      - name: sent
        columns: [{name: id, tests: [not_null, {expression: "id in (select count(*) from seeds.users)"}]}]
      - name: scored
        columns: [{name: score, tests: [not_null]}]
"""
ALWAYS = {"since", "newer", "not_null_scored_score"}
"""Tests that read the clock, in their own SQL or in a view's, or that call a function."""
OF_TABLE = {"unique_totals_user", "expression_totals_total", "row_count_totals", "big"}
OF_TOPICS = {"not_null_seen_id", "not_null_sent_id"}
WITH_SEED = {"relationships_totals_user", "expression_sent_id"}


@pytest.fixture
def done(shop, first_spark):
    write(shop)
    shop.send(event(1))
    built(shop.root, first_spark, tests=False)
    return shop


def write(shop):
    shop.write("models/tests.yml", TESTS)
    shop.write(
        "macros/score.py",
        """
        def score(value: float) -> float:
            return value * 2 % 7
    """,
    )
    shop.write("seeds/users.csv", "user\na\n")
    shop.model("totals", TOTALS)
    shop.model("seen", "select id, kind from {{ source('web', 'events') }}")
    shop.model("sent", "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}")
    shop.model("scored", "select score(value) as score from {{ source('web', 'events') }}")
    shop.model("today", "select id, current_date() as day from {{ source('web', 'events') }}")
    shop.write("tests/big.sql", "select * from {{ ref('totals') }} where user = 'now()'")
    shop.write("tests/since.sql", "select * from {{ ref('seen') }} where id > year(current_date)")
    shop.write("tests/newer.sql", "select * from {{ ref('today') }} where day is null")


def digests(shop):
    compiled = compile_project(shop.root)
    assert not [diagnostic for diagnostic in compiled.diagnostics if diagnostic.severity == "error"]
    ids = [id_ for id_, node in compiled.manifest.nodes.items() if node.kind == "test"]
    contents = contents_of(load_project(shop.root, None, None, None), compiled, ids)
    assert {id_.partition(".")[2] for id_ in ids} - {id_.partition(".")[2] for id_ in contents} == ALWAYS
    return {id_.partition(".")[2]: digest for id_, digest in contents.items()}


def changed(before, after):
    return {id_ for id_, digest in after.items() if before[id_] != digest}


def test_each_change_reaches_the_tests_that_read_it(done, first_spark):
    first = digests(done)
    assert first.keys() == OF_TABLE | OF_TOPICS | WITH_SEED
    assert digests(done) == first
    for path, old, new, reached in (
        ("seeds/users.csv", "user\na\n", "user\na\nb\n", WITH_SEED),
        ("tests/big.sql", "'now()'", "'now!'", {"big"}),
        ("models/tests.yml", "total >= 0", "total > 0", {"expression_totals_total"}),
        ("models/seen.sql", "select id,", "select id + 1 as id,", {"not_null_seen_id"}),
        ("macros/score.py", "% 7", "% 5", {"not_null_seen_id", "not_null_sent_id", "expression_sent_id"}),
    ):
        text = (done.root / path).read_text()
        assert old in text
        (done.root / path).write_text(text.replace(old, new))
        assert changed(first, digests(done)) == reached, path
        (done.root / path).write_text(text)
    done.send(event(1))
    assert changed(first, digests(done)) == {"not_null_seen_id"}
    built(done.root, first_spark, tests=False)
    assert changed(first, digests(done)) == first.keys()


@pytest.mark.long
def test_builds_tell_what_they_did_not_test_again(tmp_path):
    shop = Shop(tmp_path, keep_broker(tmp_path).address)
    try:
        create_topics(shop.bootstrap, "events", partitions=1)
        write(shop)
        shop.send(event(1))
        assert not any(test["unchanged"] for test in outcomes(shop).values())
        again = outcomes(shop)
        assert {id_ for id_, test in again.items() if not test["unchanged"]} == ALWAYS
        assert {test["status"] for test in again.values()} == {"pass"}
        assert not any(test["unchanged"] for test in outcomes(shop, "--all-tests").values())
        stop_broker(tmp_path)
        chosen = outcomes(shop, "--select", "totals")
        assert {id_ for id_, test in chosen.items() if test["unchanged"]} == OF_TABLE | {
            "relationships_totals_user"
        }
        shop = Shop(tmp_path, keep_broker(tmp_path).address)
        shop.send(event(1, user="b"))
        failed = outcomes(shop, code=1)
        wrong = {"row_count_totals", "relationships_totals_user"}
        assert {id_ for id_, test in failed.items() if test["status"] == "fail"} == wrong
        assert not any(test["unchanged"] for test in failed.values())
        failed = outcomes(shop, code=1)
        assert not any(failed[id_]["unchanged"] for id_ in wrong)
        assert failed["unique_totals_user"]["unchanged"]
    finally:
        stop_broker(tmp_path, force=True)


def outcomes(shop, *options, code=0):
    command = [*MILLSTREAM, "build", "--output", "json", *options]
    done = subprocess.run(command, cwd=shop.root, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return {test["id"].partition(".")[2]: test for test in json.loads(done.stdout)["tests"]}
