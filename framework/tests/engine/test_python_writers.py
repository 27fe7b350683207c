"""Models whose rows a function of the project writes: each batch, with an identity that repeats."""

import json

import pytest
from pyspark.sql import Observation
from pyspark.sql import functions as f
from support.runs import built, errors, headers, received, statuses
from support.shops import event
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import Apply, FullRefresh
from millstream.outputs.python.declaration import Python
from millstream.outputs.python.spark import write
from millstream.outputs.writing import WriterBatch

pytestmark = SPARK_WARNINGS

WRITERS = """
    import json
    from pathlib import Path

    import millstream
    import pandas as pd
    import pyarrow as pa

    FOLDER = Path({!r})

    def send_rows(rows: pa.Table, batch: millstream.Batch) -> None:
        _write(rows.to_pylist(), batch)

    def send_frame(rows: pd.DataFrame, batch: millstream.Batch) -> None:
        rows["value"] += 1
        _write(rows.to_dict("records"), batch)

    def _write(rows: list[dict], batch: millstream.Batch) -> None:
        call = dict(id=batch.id, repeated=batch.is_repeated, model=batch.model, env=batch.environment, rows=rows)
        with (FOLDER / "calls.jsonl").open("a") as calls:
            print(json.dumps(call, default=str), file=calls)
        failures = FOLDER / f"failures_of_{{batch.model}}"
        if failures.exists() and (left := int(failures.read_text())):
            failures.write_text(str(left - 1))
            raise ConnectionError("the endpoint does not answer")
"""
EVENTS = "{{ source('web', 'events') }}"


def written(**options):
    options = "".join(f", {name}={value!r}" for name, value in ({"write": "send_rows"} | options).items())
    return f"{{{{ config(materialized='python'{options}) }}}}"


@pytest.fixture
def writers(shop):
    shop.write("macros/writers.py", WRITERS.format(str(shop.root)))
    return shop


def failing(shop, model, times):
    (shop.root / f"failures_of_{model}").write_text(str(times))


def calls(shop, model):
    """Return the calls since the last time, of one model."""
    file = shop.root / "calls.jsonl"
    return [call for line in file.read_text().splitlines() if (call := json.loads(line))["model"] == model]


def ids(shop, model):
    return [sorted(row["id"] for row in call["rows"]) for call in calls(shop, model)]


def test_a_function_gets_each_batch_once_with_an_id_of_its_own(writers, first_spark):
    writers.model("sent", f"{written()} select id, user, value from {EVENTS} where value > 0")
    writers.send(event(1), event(2, value=-1.0))
    results, _ = built(writers.root, first_spark)
    assert statuses(results) == {"sent": "success"}
    (first,) = calls(writers, "sent")
    assert first["rows"] == [{"id": 1, "user": "a", "value": 1.0}]
    assert (first["repeated"], first["env"]) == (False, "")
    writers.send(event(3))
    built(writers.root, first_spark)
    built(writers.root, first_spark)  # nothing is new
    assert ids(writers, "sent") == [[1], [3]]
    built(writers.root, first_spark, intent=FullRefresh())
    assert ids(writers, "sent") == [[1], [3], [1, 3]]
    assert len({call["id"] for call in calls(writers, "sent")}) == 3


def test_a_failure_is_retried_then_stops_or_sends_dead_letters(writers, first_spark):
    writers.model("stopping", f"{written(retries=1)} select id from {EVENTS}")
    writers.model("retried", f"{written(write='send_frame', retries=1)} select id, value from {EVENTS}")
    writers.model(
        "left", f"{written(retries=0, on_failure='dead_letter', key='user')} select user, id from {EVENTS}"
    )
    for model, times in {"stopping": 2, "retried": 1, "left": 1}.items():
        failing(writers, model, times)
    writers.send(event(1))
    results, events = built(writers.root, first_spark)
    assert statuses(results) == {"stopping": "error", "retried": "success", "left": "success"}

    (failed,) = errors(events)
    assert failed.code == "MS861"
    assert "send_rows(): ConnectionError: the endpoint does not answer (macros/writers.py:" in failed.message
    # A frame that the function has changed is not handed over again.
    assert [call["rows"][0]["value"] for call in calls(writers, "retried")] == [2.0, 2.0]
    for model in ("stopping", "retried"):
        assert [call["repeated"] for call in calls(writers, model)] == [False, True]
        assert len({call["id"] for call in calls(writers, model)}) == 1
    (letter,) = received(writers.bootstrap, "left.dead_letter")
    assert (letter.key(), json.loads(letter.value())) == (b"a", {"user": "a", "id": 1})
    assert headers(letter)["millstream.model"] == "left"
    assert headers(letter)["millstream.reason"].startswith("send_rows(): ConnectionError: the endpoint")
    (left,) = (result for result in results.results if result.id == "model.left")
    assert ([*left.dead_letters.values()], left.rows_written) == ([1], 0)

    writers.send(event(2))
    results, _ = built(writers.root, first_spark)
    assert set(statuses(results).values()) == {"success"}
    # The batch that stopped comes again as it was, and then the next one.
    assert ids(writers, "stopping") == [[1], [1], [1], [2]]
    assert [call["repeated"] for call in calls(writers, "stopping")] == [False, True, True, False]
    assert len({call["id"] for call in calls(writers, "stopping")}) == 2
    assert ids(writers, "left") == [[1], [2]]


def test_rows_that_change_come_as_the_newest_of_their_key_or_deleted(writers, first_spark):
    writers.model(
        "totals", f"{written(key='user')} select user, sum(value) as total from {EVENTS} group by user"
    )
    writers.model(
        "newest",
        "{{ config(materialized='table', unique_key='user', order_by='id', delete_when=\"kind = 'gone'\") }} "
        f"select user, id, kind from {EVENTS}",
    )
    writers.model(
        "followed", f"{written(key='user')} select user, id from {{{{ ref('newest') }}}} where id < 10"
    )
    writers.send(event(1), event(2), event(3, "b"))
    built(writers.root, first_spark)
    writers.send(event(4, "a", kind="gone"), event(12, "b"))
    built(writers.root, first_spark)

    def rows(model):
        return [{row.pop("user"): row for row in call["rows"]} for call in calls(writers, model)]

    assert rows("totals") == [
        {"a": {"total": 2.0, "_deleted": False}, "b": {"total": 1.0, "_deleted": False}},
        {"a": {"total": 3.0, "_deleted": False}, "b": {"total": 2.0, "_deleted": False}},
    ]
    first, second = rows("followed")
    assert first == {"a": {"id": 2, "_deleted": False}, "b": {"id": 3, "_deleted": False}}
    assert {user: row["_deleted"] for user, row in second.items()} == {"a": True, "b": True}


def test_an_apply_that_rebuilds_hands_all_rows_over_again_or_starts_from_now(writers, first_spark):
    sql = f"select user, sum(value) as total from {EVENTS} group by user"
    for model, on_rebuild in (("replayed", "replay"), ("skipping", "skip")):
        writers.model(model, f"{written(key='user', on_rebuild=on_rebuild)} {sql}")
    writers.send(event(1), event(2, "b"))
    built(writers.root, first_spark)
    for model, on_rebuild in (("replayed", "replay"), ("skipping", "skip")):
        writers.model(model, f"{written(key='user', on_rebuild=on_rebuild)} {sql.replace('sum', 'max')}")
    writers.send(event(3, value=5.0))
    results, events = built(writers.root, first_spark)
    assert statuses(results) == {"replayed": "error", "skipping": "error"}
    assert {diagnostic.code for diagnostic in errors(events)} == {"MS870"}
    results, _ = built(writers.root, first_spark, intent=Apply({}))
    assert statuses(results) == {"replayed": "success", "skipping": "success"}

    def totals(model):
        return [{row["user"]: row["total"] for row in call["rows"]} for call in calls(writers, model)]

    first = {"a": 1.0, "b": 1.0}
    assert totals("replayed") == [first, {"a": 5.0, "b": 1.0}]
    # Its state has all rows, its function only what the running version had not read.
    assert totals("skipping") == [first, {"a": 5.0}]
    writers.send(event(4, "b", value=2.0))
    built(writers.root, first_spark)
    assert totals("skipping")[2:] == [{"b": 2.0}]
    for model in ("replayed", "skipping"):
        assert len({call["id"] for call in calls(writers, model)}) == 3


@pytest.mark.parametrize(("environments", "called"), [("skip", []), ("call", ["alice"])])
def test_an_environment_computes_all_rows_and_calls_no_function_unless_the_model_says_so(
    spark, environments, called
):
    environments_of_calls, computed = [], Observation()
    options = Python(write="send_rows", environments=environments).settings
    batch = WriterBatch(
        "sent",
        "sent/1/0",
        environment="alice",
        function=lambda _: lambda _, batch: environments_of_calls.append(batch.environment),
    )
    write(spark.range(3).observe(computed, f.count("*").alias("rows")), options, batch)
    assert environments_of_calls == called
    assert computed.get == {"rows": 3}
