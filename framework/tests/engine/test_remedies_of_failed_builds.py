"""A build that fails for a key that is not unique: what is shown of the table, until the key is fixed."""

import json

import pytest
from click.testing import CliRunner
from support.runs import built, errors
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.cli.group import millstream
from millstream.results.run_results import write_results

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

VALUES = """
    {{ config(materialized='table', unique_key='user') }}
    select user, max(id) as id from {{ source('web', 'events') }} group by user
"""
KEYED = """
    {{ config(materialized='table', unique_key='KEY', refresh='full') }}
    select concat(user, id) as joined, user, id from {{ ref('values') }}
"""


def build(shop, spark):
    """Build as the command does, which stores the results."""
    results, events = built(shop.root, spark)
    write_results(shop.root / "target", results)
    return errors(events)


def shown(shop):
    result = CliRunner().invoke(
        millstream, ["show", "keyed", "--output", "json", "--project-dir", str(shop.root)]
    )
    document = json.loads(result.stdout)
    return document["rows"], document["diagnostics"]


def test_a_key_that_several_rows_have(shop, first_spark):
    shop.model("values", VALUES)
    shop.model("keyed", KEYED.replace("KEY", "joined"))
    shop.send(event(12, user="a"), event(2, user="a1"))
    (failed,) = build(shop, first_spark)
    assert failed.code == "MS857"
    assert "2 rows with the key joined = a12" in failed.message
    assert failed.help == "make unique_key the columns that identify a row, or group by the key"
    rows, (warning,) = shown(shop)
    assert (rows, warning["code"]) == ([], "MS615")
    assert warning["message"] == "the last build of 'keyed' failed: its rows are those from before"
    assert "2 rows with the key joined = a12" in warning["notes"][0]["message"]

    shop.model("keyed", KEYED.replace("KEY", "user"))
    assert build(shop, first_spark) == []
    rows, warnings = shown(shop)
    assert (sorted(row["user"] for row in rows), warnings) == (["a", "a1"], [])
