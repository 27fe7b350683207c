"""Python workers that a busy machine starts more slowly than Spark waits."""

import sys
from inspect import cleandoc

import pytest
from support.exactly_once import RUNNING
from support.runs import built, statuses
from support.shops import event

NUMBERS = """
    {{ config(materialized='sink', key='user', unbounded_state='accept') }}
    select t.user, t.number, t.id from {{ source('web', 'events') }} as e, lateral numbered(e.user) as t
"""
SLOW = """
    #!/bin/sh
    case "$*" in
      *driver_worker*) if [ {count} -gt "$(ls {folder} | wc -l)" ]; then mktemp -p {folder}; sleep 11; fi;;
    esac
    exec {python} "$@"
"""
"""Python that starts too slowly for Spark a few times."""


@pytest.fixture
def slow(shop, spark, monkeypatch):
    shop.write("macros/numbered.py", RUNNING)
    shop.model("numbers", NUMBERS)
    shop.send(event(1), event(2))
    folder = shop.root / "started"
    folder.mkdir()

    def start(count):
        program = shop.root / "python"
        program.write_text(cleandoc(SLOW.format(count=count, folder=folder, python=sys.executable)))
        program.chmod(0o700)
        monkeypatch.setattr(spark.sparkContext, "pythonExec", str(program))

    return start


@pytest.mark.long
def test_a_query_is_started_again(slow, shop, spark):
    slow(1)
    results, _ = built(shop.root, spark)
    assert statuses(results) == {"numbers": "success"}
    assert [row["id"] for row in shop.values("numbers")] == [1, 2]
    assert len(list((shop.root / "started").iterdir())) == 1


@pytest.mark.long
def test_it_is_given_up_at_last(slow, shop, spark):
    slow(9)
    results, _ = built(shop.root, spark)
    assert statuses(results) == {"numbers": "error"}
    slow(0)
    results, _ = built(shop.root, spark)
    assert statuses(results) == {"numbers": "success"}
    assert [row["id"] for row in shop.values("numbers")] == [1, 2]
