"""Rows that fail a data test with severity `error`: which rows, how to go on, and that all else goes on."""

import pytest
from support.running import running
from support.runs import built, problems, received, statuses, table_rows
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.runner.values import Failed, LeftOut

pytestmark = SPARK_WARNINGS

EVENTS = "from {{ source('web', 'events') }}"
LATEST = "{{ config(materialized='table', unique_key='id') }} select id, kind, value " + EVENTS
KINDS = """
    {{ config(materialized='table', unique_key='kind') }}
    select kind, count(*) as n, sum(value) as value from {{ ref('latest') }} group by kind
"""
SINK = "{{ config(materialized='sink', key='id') }} select id, kind, value " + EVENTS
SUMS = """
    {{ config(materialized='table', unique_key='kind') }}
    select kind, sum(value) as value from {{ source('web', 'events') }} group by kind
"""


def small(shop, **severities):
    """Let models test that values are small."""
    tests = "".join(
        f"""
  - name: {name}
    tests: [{{expression: {{expression: "value < 10", severity: {severity}}}}}]"""
        for name, severity in severities.items()
    )
    shop.write("models/tests.yml", f"models:{tests}")


def failures(told):
    return [*problems(told), *(each.problem for each in told if isinstance(each, LeftOut))]


def kinds(shop, name):
    return sorted(row["kind"] for row in table_rows(shop.root, f"model.{name}"))


def test_a_table_over_tables_fails_alone_whatever_the_severity(shop, first_spark):
    shop.model("latest", LATEST)
    names = {"strict": "error", "warned": "warn", "dropped": "drop", "parted": "dead_letter"}
    for name in names:
        shop.model(name, KINDS)
    small(shop, **names)
    shop.send(event(1), event(2, kind="y", value=20.0))
    results, told = built(shop.root, first_spark)
    assert statuses(results) == {
        "latest": "success", "strict": "error", "warned": "success", "dropped": "success", "parted": "success",
    }  # fmt: skip
    (problem,) = failures(told)
    assert problem.code == "MS863"
    assert "a row fails a data test: model strict, test expression_strict: kind = y, value = 20.0" in (
        problem.message
    )
    assert {name: kinds(shop, name) for name in ("warned", "dropped", "parted")} == {
        "warned": ["x", "y"], "dropped": ["x"], "parted": ["x"],
    }  # fmt: skip
    assert [each.key() for each in received(shop.bootstrap, "parted.dead_letter")] == [b"y"]
    # As its remedy says: without the row as long as it is dropped; then its SQL still gives the row.
    small(shop, strict="drop")
    results, told = built(shop.root, first_spark)
    assert failures(told) == []
    assert kinds(shop, "strict") == ["x"]
    shop.send(event(2, kind="y", value=2.0))
    small(shop, strict="error")
    results, told = built(shop.root, first_spark)
    assert failures(told) == []
    assert kinds(shop, "strict") == ["x", "y"]


@pytest.mark.long
def test_a_run_goes_on_after_a_row_of_a_table_over_tables_fails(shop, first_spark):
    shop.model("latest", LATEST)
    shop.model("strict", KINDS)
    small(shop, strict="error")
    shop.send(event(1), event(2, kind="y", value=20.0))
    with running(shop.root, first_spark) as going:
        failed = going.until(lambda: going.of(Failed))
        assert {each.problem.code for each in failed} == {"MS863"}
        shop.send(event(2, kind="y", value=2.0))
        going.until(lambda: kinds(shop, "strict") == ["x", "y"])
    assert {each.query for each in going.of(Failed)} == {"strict"}


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        pytest.param(SINK, ", topic events, partition 0, offset 1: id = 2, value = 20.0", id="sink"),
        pytest.param(
            LATEST, ": id = 2, value = 20.0; the batch reads topic events, partition 0, offset 1", id="table"
        ),
        pytest.param(
            SUMS, ": kind = x, value = 21.0; the batch reads topic events, partition 0, offset 1", id="sums"
        ),
    ],
)
@pytest.mark.parametrize("severity", ["drop", "dead_letter"])
def test_the_error_names_the_record_and_each_remedy_goes_on(shop, first_spark, sql, row, severity):
    small(shop, strict="error")
    shop.model("strict", sql)
    shop.send(event(1))
    assert not built(shop.root, first_spark)[0].failed
    shop.send(event(2, value=20.0))
    _, told = built(shop.root, first_spark)
    (problem,) = failures(told)
    assert problem.code == "MS863"
    assert problem.message.endswith(f"model strict, test expression_strict{row}")
    assert "set its severity to drop or dead_letter, and back after the next build" in problem.help
    small(shop, strict=severity)
    assert not built(shop.root, first_spark)[0].failed
    small(shop, strict="error")
    shop.send(event(3, kind="z"))
    assert not built(shop.root, first_spark)[0].failed
    letters = received(shop.bootstrap, "strict.dead_letter") if severity == "dead_letter" else []
    assert len(letters) == (severity == "dead_letter")
