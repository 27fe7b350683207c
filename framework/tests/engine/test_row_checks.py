"""Data tests of single rows, asked before the row is stored, on Kafka and Spark."""

import pytest
from support.running import running
from support.runs import built, errors, pairs, received, statuses, table_rows
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.deploy.values import BatchCompleted, LeftOut

pytestmark = SPARK_WARNINGS

SINK = "{{ config(materialized='sink', key='id') }} "
TABLE = "{{ config(materialized='table', unique_key='id') }} "
SUMS = "{{ config(materialized='table', unique_key='kind') }} "
DEDUPED = "{{ config(materialized='sink', key='id', dedupe={'keys': ['id'], 'within': '1 hour'}) }} "
EVENTS = "from {{ source('web', 'events') }}"
SMALL = "value < 10"
SHIFT = """
    def shifted(value: float) -> float:
        return value + 1
"""


def severities_of(shop, **severities):
    """Let each of these models test that values are small."""
    models = "".join(
        f"""
  - name: {name}
    tests: [{{expression: {{expression: "{SMALL}", severity: {severity}}}}}]"""
        for name, severity in severities.items()
    )
    shop.write("models/tests.yml", f"models:{models}")


def counts(results, fate="tests"):
    return {result.id.removeprefix("model."): getattr(result, fate) for result in results.results}


def ids(rows):
    return sorted(row["id"] for row in rows)


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param(SINK + f"select id, kind, value {EVENTS}", id="sink"),
        pytest.param(
            SINK + f"select id, kind, shifted(value) as value {EVENTS}", id="function", marks=pytest.mark.long
        ),
        pytest.param(DEDUPED + f"select id, kind, value, at {EVENTS}", id="dedupe", marks=pytest.mark.long),
        pytest.param(TABLE + f"select id, kind, value {EVENTS}", id="table", marks=pytest.mark.long),
    ],
)
def test_rows_are_told_of_dropped_and_sent_to_dead_letters(shop, first_spark, sql):
    shop.write("macros/shift.py", SHIFT)
    names = {"warned": "warn", "dropped": "drop", "parted": "dead_letter"}
    severities_of(shop, **names)
    for name in names:
        shop.model(name, sql)
    shop.send(event(1), event(2, value=20.0), event(3), event(4, value=30.0))
    results, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert counts(results) == {name: {f"test.expression_{name}": 2} for name in names}
    stored = {name: rows_of(shop, name) for name in names}
    assert {name: ids(rows) for name, rows in stored.items()} == {
        "warned": [1, 2, 3, 4], "dropped": [1, 3], "parted": [1, 3],
    }  # fmt: skip
    letters = received(shop.bootstrap, "parted.dead_letter")
    assert sorted(letter.key() for letter in letters) == [b"2", b"4"]
    assert {dict(letter.headers())["millstream.reason"] for letter in letters} == {
        b"parted: test expression_parted"
    }
    assert counts(results, "dead_letters")["parted"] == {"model.parted": 2}


def rows_of(shop, name):
    if "'table'" in (shop.root / f"models/{name}.sql").read_text():
        return table_rows(shop.root, f"model.{name}")
    return shop.values(name)


@pytest.mark.long
def test_what_fails_several_tests_is_one_dead_letter(shop, first_spark):
    shop.write(
        "models/tests.yml",
        """
        models:
          - name: parted
            columns:
              - {name: kind, tests: [{not_null: {severity: dead_letter}}]}
              - {name: value, tests: [{not_null: {severity: dead_letter}}]}
        """,
    )
    shop.model("parted", SINK + f"select id, kind, value {EVENTS}")
    shop.send(event(1), event(2, value=None, kind=None), event(3, value=None))
    built(shop.root, first_spark)
    assert ids(shop.values("parted")) == [1]
    reasons = [
        dict(record.headers())["millstream.reason"]
        for record in received(shop.bootstrap, "parted.dead_letter")
    ]
    assert sorted(reasons) == [
        b"parted: test not_null_parted_kind, not_null_parted_value",
        b"parted: test not_null_parted_value",
    ]


@pytest.mark.parametrize("config", [SINK, TABLE], ids=["sink", "table"])
def test_an_error_stops_its_model_before_the_row_is_stored_and_no_other(shop, first_spark, config):
    severities_of(shop, strict="error, name: small_values")
    shop.model("strict", config + f"select id, value {EVENTS}")
    shop.model("plain", SINK + f"select id {EVENTS}")
    shop.send(event(1))
    assert not built(shop.root, first_spark)[0].failed
    shop.send(event(2, value=20.0))
    results, events = built(shop.root, first_spark)
    assert statuses(results) == {"plain": "success", "strict": "error"}
    diagnostics = [*errors(events), *(event.diagnostic for event in events if isinstance(event, LeftOut))]
    assert [diagnostic.code for diagnostic in diagnostics] == ["MS863"]
    assert "model strict, test small_values" in diagnostics[0].message
    assert str(diagnostics[0].location).startswith("models/tests.yml:3:")
    assert "name: small_values" in diagnostics[0].line
    assert ids(rows_of(shop, "strict")) == [1]
    assert sorted({row["id"] for row in shop.values("plain")}) == [1, 2]
    severities_of(shop, strict="drop, name: small_values")
    shop.send(event(3))
    assert not built(shop.root, first_spark)[0].failed
    assert ids(rows_of(shop, "strict")) == [1, 3]


@pytest.mark.long
def test_an_aggregate_is_tested_in_every_batch_of_a_run(shop, first_spark):
    severities_of(shop, sums="warn")
    shop.model("sums", SUMS + f"select kind, sum(value) as value {EVENTS} group by kind")
    shop.send(event(1, value=4.0), event(2, value=4.0, kind="y"))
    with running(shop.root, first_spark) as going:
        going.until(lambda: batches(going) == [{}])
        shop.send(event(3, value=7.0))
        going.until(lambda: batches(going) == [{}, {"test.expression_sums": 1}])
        assert sum(progress.tests["test.expression_sums"] for progress in going.totals.all()) == 1
    assert sorted(row["value"] for row in table_rows(shop.root, "model.sums")) == [4.0, 11.0]


def batches(going):
    return [event.batch.counts.tests for event in going.of(BatchCompleted) if event.batch.rows]


@pytest.mark.long
def test_a_row_that_is_gone_is_not_tested(shop, first_spark):
    severities_of(shop, busy="error")
    shop.model(
        "busy",
        "{{ config(materialized='sink', key='kind') }} "
        f"select kind, sum(value) as value {EVENTS} group by kind having sum(value) < 10",
    )
    shop.send(event(1, value=4.0))
    built(shop.root, first_spark)
    shop.send(event(2, value=16.0))
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert [value for _, value in pairs(shop.bootstrap, "busy")][-1] is None


@pytest.mark.long
def test_tests_can_be_left_out(shop, first_spark):
    severities_of(shop, strict="error", dropped="drop")
    for name in ("strict", "dropped"):
        shop.model(name, SINK + f"select id, value {EVENTS}")
    shop.send(event(1, value=20.0))
    assert not built(shop.root, first_spark, tests=False)[0].failed
    assert (ids(shop.values("strict")), ids(shop.values("dropped"))) == ([1], [])


@pytest.mark.long
def test_where_some_wrong_rows_are_tolerated_none_stops_its_model(shop, first_spark):
    shop.write(
        "models/tests.yml",
        """
        models:
          - name: plain
            tests: [{expression: {expression: value < 10, at_most: 50%}}]
        """,
    )
    shop.model("plain", SINK + f"select id, value {EVENTS}")
    shop.send(event(1, value=20.0), event(2))
    results, _ = built(shop.root, first_spark)
    assert counts(results) == {"plain": {"test.expression_plain": 1}}
    assert ids(shop.values("plain")) == [1, 2]
