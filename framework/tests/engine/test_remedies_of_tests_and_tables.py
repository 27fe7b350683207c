"""Data tests that fail, and tables that another program changed: each remedy is followed, and is enough."""

import shutil

import pytest
from support.runs import built, errors, table_rows
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.deploy.planning.intents import FullRefresh
from millstream.testing.outcomes import data_outcome
from millstream.testing.session import TestSession

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

NEWEST = """
    {{{{ config(materialized='table', unique_key='user') }}}}
    select user, id, value from {{{{ source('web', 'events') }}}} where id > {}
"""
TESTS = """models: [{{name: newest, tests: [{{expression: "{}"}}]}}]"""
RAW = """
    {{ config(materialized='table', partition_by='kind') }}
    select id, kind, value from {{ source('web', 'events') }}
"""


def judged(shop):
    """Run the data test of `newest`; return the code and the remedy of what it reports, if anything."""
    session = TestSession(shop.root)
    try:
        (node,) = (node for node in session.nodes.values() if node.kind == "test")
        return [(finding.code, finding.help) for finding in _findings(session, node)]
    finally:
        session.close()


def _findings(session, node):
    try:
        return data_outcome(session, node, strict=True).diagnostics
    except MillstreamError as error:
        return error.diagnostics


def test_a_data_test_that_fails_or_can_not_be_run(shop, first_spark):
    shop.model("newest", NEWEST.format(0))
    shop.write("models/tests.yml", TESTS.format("cast(concat('x', id) as int) > 1"))
    shop.send(event(1), event(2, "b"))
    assert judged(shop) == [("MS661", "run `millstream build`")]
    built(shop.root, first_spark, tests=False)
    assert judged(shop) == [("MS661", "fix its SQL")]
    shop.write("models/tests.yml", TESTS.format("id > 1"))
    assert judged(shop) == [("MS660", "fix the model, or the test")]
    shop.model("newest", NEWEST.format(1))
    built(shop.root, first_spark, tests=False, intent=FullRefresh())
    assert judged(shop) == []
    assert [row["user"] for row in table_rows(shop.root, "model.newest")] == ["b"]


@pytest.mark.parametrize("edit", [("='kind'", "='id'"), ("value from", "cast(value as int) as value from")])
def test_a_table_of_other_checkpoints(shop, first_spark, edit):
    """The checkpoints are gone, as with a new disk, so that nothing tells that the model was edited."""
    shop.model("raw", RAW)
    shop.send(event(1), event(2, kind="y"))
    built(shop.root, first_spark)
    shutil.rmtree(shop.root / ".millstream/local/checkpoints")
    shop.model("raw", RAW.replace(*edit))
    (diagnostic,) = errors(built(shop.root, first_spark)[1])
    assert diagnostic.code == "MS866"
    assert "millstream build --full-refresh --select raw" in diagnostic.help
    assert errors(built(shop.root, first_spark, intent=FullRefresh())[1]) == []
    assert sorted(row["id"] for row in table_rows(shop.root, "model.raw")) == [1, 2]
