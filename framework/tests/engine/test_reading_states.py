"""`state` shows what stateful queries remember, by the reader of Spark's state stores."""

import json
import subprocess
from datetime import timedelta

import pytest
from support.commands import MILLSTREAM
from support.keyed import GROWING
from support.runs import built, job_of, table_rows
from support.shops import TOTALS, WINDOWS, event, minute
from support.spark import SPARK_WARNINGS

from millstream.project.folders import checkpoints_of
from millstream.project.load import load_project
from millstream.runner.samples.states import StateReader, value_names
from millstream.stores.files import LocalFiles

pytestmark = SPARK_WARNINGS

EVENTS = "{{ source('web', 'events') }}"
BY_USER = (
    "{{ config(materialized='table', unique_key='user') }} select user, max(value) as most, avg(value) as mean, "
    f"max_by(id, value) as best from {EVENTS} where id > 1 group by user"
)
MODELS = {
    "totals": TOTALS,
    "by_user": BY_USER,
    "windows": WINDOWS,
    "once": f"{{{{ config(materialized='sink', dedupe={{'keys': ['id'], 'within': '1 hour'}}) }}}} select id, at from {EVENTS}",
    "exactly": f"{{{{ config(materialized='sink', dedupe={{'keys': ['id'], 'within': '1 hour', 'exact': true}}) }}}} select id, at from {EVENTS}",
    "grown": f"{{{{ config(materialized='sink') }}}} select t.value from {EVENTS} as e, lateral growing(e.user) as t",
    "pairs": f"{{{{ config(materialized='sink') }}}} select a.id, b.id as other from {EVENTS} as a "
    f"join {EVENTS} as b on a.id = b.value and b.at between a.at and a.at + interval '1 minute'",
}

SEVERAL = {
    "uniques": f"{{{{ config(materialized='view', dedupe={{'keys': ['id'], 'within': '1 hour'}}) }}}} select id, kind, at from {EVENTS}",
    "per_kind": "{{ config(materialized='sink', emit='on_close') }} select window(at, '1 minute').start as minute, kind, "
    "count(*) as n from {{ ref('uniques') }} group by window(at, '1 minute'), kind",
    "minutes": "{{ config(materialized='view', emit='on_close') }} select window_time(window(at, '1 minute')) as minute, kind, "
    f"count(*) as n from {EVENTS} group by window(at, '1 minute'), kind",
    "matched": "{{ config(materialized='sink') }} select u.id, m.n from {{ ref('uniques') }} as u join {{ ref('minutes') }} as m "
    "on u.kind = m.kind and m.minute between u.at and u.at + interval '1 hour'",
}
"""States that share a query."""


@pytest.mark.long
def test_a_state_is_read_by_a_process_that_runs_no_query(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(event(1, value=4.0), event(2, "b", 2.0), event(3, "b", 8.0))
    built(shop.root, first_spark)
    command = [*MILLSTREAM, "state", "get", "totals", "b"]
    done = subprocess.run(command, cwd=shop.root, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    assert "10.0" in done.stdout


@pytest.mark.long
def test_states_are_listed_counted_and_read(shop, first_spark):
    for name, sql in MODELS.items():
        shop.model(name, sql)
    shop.write("macros/growing.py", GROWING)
    shop.send(event(1, value=4.0), event(2, "b", 2.0), event(3, "b", 8.0), minute(5), minute(9))
    results, _ = built(shop.root, first_spark)
    expired = {result.id: result.expired for result in results.results}
    assert (expired["model.windows"], expired["model.totals"]) == (1, 0)
    command = [*MILLSTREAM, "state", "--output", "json"]
    done = subprocess.run(command, cwd=shop.root, capture_output=True, check=True, text=True)
    states = json.loads(done.stdout)["states"]
    assert {(tuple(state["models"]), state["operator"]) for state in states} == {
        (("by_user",), "aggregate"),
        (("totals",), "aggregate"),
        (("windows",), "aggregate"),
        (("once",), "dedupe"),
        (("exactly",), "dedupe"),
        (("grown",), "stateful"),
        (("pairs",), "join"),
    }
    assert all(state["disk"] > 0 and state["memory"] > 0 and state["measured"] for state in states)
    sizes = {state["models"][0]: state for state in states}
    assert sizes["totals"]["rows"] == len(table_rows(shop.root, "model.totals")) == 2
    assert sizes["windows"]["watermark"] == "2026-01-01T00:08:00.000Z"

    project = load_project(shop.root, None, None, None)
    reader = StateReader(first_spark, LocalFiles(), checkpoints_of(project.target, shop.root))
    counted = {size.models[0]: reader.counted(size) for size in reader.sizes()}
    assert (counted["totals"].keys, counted["once"].keys, counted["grown"].keys) == (
        2,
        2,
        2,
    )  # ids without a time expired
    assert (counted["windows"].keys, counted["windows"].oldest) == (1, "2026-01-01 00:09:00")
    ((_, contents),) = reader.rows("by_user", ["b"], None)
    (stored,) = (row for row in table_rows(shop.root, "model.by_user") if row["user"] == "b")
    assert contents.columns == (
        *("user", "max(value)", "avg(value) sum", "avg(value) count", "max_by(id, value)"),
        "max_by(id, value) by",
    )
    _, most, total, number, best, _ = contents.rows[0]
    assert (most, total / number, best) == (stored["most"], stored["mean"], stored["best"])
    ((_, contents),) = reader.rows("windows", ["2026-01-01 00:09:00"], None)
    assert [row[1] for row in contents.rows] == [1]
    ((_, contents),) = reader.rows("grown", ["b"], None)
    assert [row[1] for row in contents.rows] == [{"total": 5}]
    assert len(reader.rows("once", ["5"], None)[0][1].rows) == 1
    ((_, contents),) = reader.rows("exactly", ["5"], None)
    ((_, passed, expires),) = contents.rows
    assert (contents.columns, [time + timedelta(hours=1) for time in passed]) == (
        ("id", "passed", "expires"),
        [expires],
    )
    assert counted["exactly"].oldest == counted["once"].oldest
    assert {row[0] for row in reader.rows("pairs", [], None)[0][1].rows} == {"left", "right"}
    assert reader.rows("plain", [], None) == []


def test_names_of_what_spark_keeps():
    facts = [("key 1", "source.web.events.user string"), ("measure 1", "sum(model.a.x) decimal(38,2)")]
    assert value_names(facts, ["sum", "isEmpty"]) == ["sum(x)", "sum(x) overflows"]
    several = [("measure 1", "avg(seed.rates.x) double"), ("measure 2", "count(*) bigint not null")]
    assert value_names(several, ["sum", "count", "count"]) == ["avg(x) sum", "avg(x) count", "count(*)"]
    # What is not known keeps Spark's names.
    assert value_names([("measure 1", "stddev(model.a.x) double")], ["n", "avg", "m2"]) == ["n", "avg", "m2"]


def test_states_are_numbered_as_spark_does(shop):
    for name, sql in SEVERAL.items():
        shop.model(name, sql)
    queries = job_of(shop.root).physical.queries
    kinds = {query.name: [operator.kind for operator in query.signature.numbered] for query in queries}
    assert kinds == {"per_kind": ["aggregate", "dedupe"], "matched": ["join", "dedupe", "aggregate"]}


@pytest.mark.long
def test_figures_are_those_of_each_state_of_a_query(shop, first_spark):
    for name, sql in SEVERAL.items():
        shop.model(name, sql)
    events = [
        ("a", {"id": number, "kind": "x", "value": 1.0, "at": f"2026-01-01T00:0{number % 5}:00Z"})
        for number in range(20)
    ]
    shop.send(*events, *events)
    built(shop.root, first_spark)
    done = subprocess.run(
        [*MILLSTREAM, "state", "--output", "json"], cwd=shop.root, capture_output=True, check=True, text=True
    )
    rows = {(state["query"], state["operator"]): state["rows"] for state in json.loads(done.stdout)["states"]}
    project = load_project(shop.root, None, None, None)
    reader = StateReader(first_spark, LocalFiles(), checkpoints_of(project.target, shop.root))
    sizes = [size for size in reader.sizes() if size.operator != "join"]
    keys = {(size.query, size.operator): reader.counted(size).keys for size in sizes}
    assert len(keys) == 4
    for (query, operator), number in keys.items():
        assert rows[query, operator] == number
        assert number == 20 if operator == "dedupe" else 1 <= number <= 5, "some windows are closed"
    assert rows["matched", "join"] > 5
