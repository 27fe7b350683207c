"""Edits of files other than a model's own SQL: told from the plan, and run as in `test_edited_states`."""

import json
import os
import re

import pytest
from edits import corpus
from edits.files import FILES, UNSEEN
from edits.projects import EDITS, EFFECTS, IMPORTED
from edits.test_edited_states import OTHERS, PROFILES, half
from support.runs import built, create_topics, errors, job_of, received, send, statuses, table_rows
from support.shops import Shop
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project
from millstream.deploy.checkpoints.deployed import deployed_at
from millstream.deploy.planning.definitions import running_project
from millstream.deploy.planning.intents import Update
from millstream.deploy.planning.records import Deployed, new_record
from millstream.deploy.planning.reuse_running import plan_on_running
from millstream.deploy.planning.stages import judge_checkpoint
from millstream.local.broker import shared_broker
from millstream.project.folders import checkpoints_of
from millstream.project.load import load_project
from millstream.stores.files import LocalFiles

pytestmark = SPARK_WARNINGS

STEP = int(os.environ.get("MILLSTREAM_EDITS_STEP", "1"))
"""Every how many edits of files are run; all of them are told."""
FIRST = int(os.environ.get("MILLSTREAM_EDITS_FIRST", "0"))
"""From which on."""
SENT = {"s_sent", "m_keys"}
"""Sinks whose records stay as they were sent: events, and records under keys of another format."""


def write(shop, edits, side):
    shop.write("profiles.yml", PROFILES)
    shop.more(OTHERS)
    for edit in edits:
        for path, text in getattr(edit, side).items():
            shop.write(path, "\n" + text)


def queries(shop):
    """Return the query of each model."""
    return by_model(job_of(shop.root).physical)


def by_model(physical):
    return {model: query for query in physical.queries for model in query.stored}


def verdict_of(before, after, model):
    verdict = judge_checkpoint(after[model], new_record("", before[model], {}), Deployed({}))
    return verdict.kind


def test_the_verdict_of_each_edit(tmp_path):
    shop, edits = Shop(tmp_path, ""), (*EDITS, *FILES, *IMPORTED, *EFFECTS)
    write(shop, edits, "before")
    old = job_of(shop.root)
    write(shop, edits, "after")
    new = job_of(shop.root)
    running = Deployed({query.name: new_record("", query, {}) for query in old.physical.queries})
    reused = plan_on_running(new.topology, new.physical, running, old.catalog)
    before, after = by_model(old.physical), by_model(reused.physical)
    verdicts = {edit.name: verdict_of(before, after, f"model.{edit.model}") for edit in edits}
    assert verdicts == {edit.name: edit.verdict for edit in edits}


def test_few_edits_that_change_nothing_ask_for_a_rebuild():
    verdicts = {edit.name: edit.verdict for edit in (*corpus.EDITS, *EDITS, *FILES, *IMPORTED, *EFFECTS)}
    unseen = UNSEEN | corpus.UNSEEN
    assert {verdicts[name] for name in unseen} <= {"stored", "mixed", "rebuild"}
    same = sum(verdict == "same" for verdict in verdicts.values())
    assert len(verdicts) > 300
    assert len(unseen) / (same + len(unseen)) <= 0.05


@pytest.mark.long
@pytest.mark.parametrize("edits", [EDITS, FILES[FIRST::STEP]], ids=["projects", "files"])
def test_what_goes_on_and_what_is_rebuilt_has_the_rows_of_a_fresh_run(tmp_path, first_spark, edits):
    with shared_broker(tmp_path) as starting:
        shop = Shop(tmp_path, starting.ready().address)
        write(shop, edits, "before")
        create_topics(shop.bootstrap, "events", "others", "pairs")
        send(shop.bootstrap, half(0) | {"pairs": pairs(0)})
        succeeded(built(shop.root, first_spark)[0])
        before = models_in(compile_project(shop.root))

        write(shop, edits, "after")
        send(shop.bootstrap, half(1) | {"pairs": pairs(1)})
        results, events = built(shop.root, first_spark)
        refused = {result.id for result in results.results if result.status in {"error", "skipped"}}
        wrong = [e.name for e in edits if (e.verdict == "same") == (f"model.{e.model}" in refused)]
        assert wrong == []
        assert {diagnostic.code for diagnostic in errors(events)} <= {"MS870", "MS871", "MS880"}

        after = models_in(compile_project(shop.root))
        assert running(shop) == {id_: (before if id_ in refused else after)[id_] for id_ in after}
        succeeded(built(shop.root, first_spark, intent=Update(frozenset(refused)))[0])
        succeeded(built(shop.root, first_spark, target="fresh")[0])
        unlike = {
            e.name: (rows(shop, e, "local"), rows(shop, e, "fresh")) for e in edits if e.model not in SENT
        }
        assert {name: both for name, both in unlike.items() if both[0] != both[1]} == {}


def models_in(compiled):
    """Return the texts of models, by id."""
    return {id_: node.checksum for id_, node in compiled.manifest.nodes.items() if node.kind == "model"}


def running(shop):
    """Return the texts of the models that run, according to the records of their queries."""
    checkpoints = checkpoints_of(load_project(shop.root, None, None, None).target, shop.root)
    records = deployed_at(LocalFiles(), checkpoints).records
    return models_in(running_project(records.values(), compile_project(shop.root).manifest, None))


def pairs(number):
    """Return numbers that compare in another way than as texts, and every other time in the same."""
    numbers = [(9, 10), (2, 3), (30, 4), (7, 5)]
    return [("ab"[number], {"a": a, "b": b}) for a, b in numbers] + [("c", {"a": 8, "b": 11})]


def succeeded(results):
    assert {name for name, status in statuses(results).items() if status != "success"} == set()


def rows(shop, edit, target):
    """Return the rows of a table, or the newest record of each key of a topic."""
    sql = (shop.root / "models" / f"{edit.model}.sql").read_text()
    if topic := re.search(r"topic=target.name ~ '(\w+)'", sql):
        newest = {
            record.key(): json.loads(record.value()) for record in received(shop.bootstrap, target + topic[1])
        }
        stored_rows = [*newest.values()]
    else:
        stored_rows = table_rows(shop.root, f"model.{edit.model}", target)
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in stored_rows)


TARGET = "{{master: 'local[2]', grouping: off, {}}}"
STATES = {
    "sums": "{{ config(materialized='table', unique_key='user') }}\n"
    "select user, count(*) as events from {{ source('web', 'events') }} group by user",
    "days": "{{ config(materialized='table', unique_key='id') }}\n"
    "select id, to_date(at) as day from {{ source('web', 'events') }}",
    "sent": "{{ config(materialized='sink') }} select id, to_date(at) as day from {{ source('web', 'events') }}",
}


@pytest.mark.parametrize(
    ("before", "after", "counts"),
    [
        ("", "timezone: Asia/Tokyo", True),
        ("", "spark: {spark.sql.session.timeZone: Asia/Tokyo}", True),
        ("timezone: Asia/Tokyo", "spark: {spark.sql.session.timeZone: Asia/Tokyo}", False),
        ("", "spark: {spark.sql.ansi.enabled: false}", True),
        ("spark: {spark.sql.ansi.enabled: false}", "spark: {spark.sql: {ansi: {enabled: false}}}", False),
        ("", "spark: {spark.executor.memory: 2g}", False),
    ],
)
def test_the_verdict_of_an_edited_target(tmp_path, before, after, counts):
    same = dict.fromkeys(STATES, "same")
    expected = same | {"sums": "rebuild", "days": "stored"} if counts else same
    assert verdicts_of_targets(tmp_path, before, after) == expected


CONSUMER = "kafka: {bootstrap_servers: 'broker:9092', consumer: {isolation.level: read_uncommitted}}"


def test_another_isolation_level(tmp_path):
    plain = "kafka: {bootstrap_servers: 'broker:9092'}"
    verdicts = verdicts_of_targets(tmp_path / "target", plain, CONSUMER)
    assert verdicts == {"sums": "rebuild", "days": "stored", "sent": "same"}
    shop = Shop(tmp_path / "source", "")
    write_states(shop)
    read = []
    for level in ("read_committed", "read_uncommitted"):
        shop.source(options=f"{{isolation.level: {level}}}")
        read.append(queries(shop))
    assert {name: verdict_of(*read, f"model.{name}") for name in STATES} == verdicts
    sums = judge_checkpoint(read[1]["model.sums"], new_record("", read[0]["model.sums"], {}), Deployed({}))
    expected = "the isolation level of web.events is read_uncommitted instead of not set"
    assert sums.reasons == (expected,)


def test_another_version_of_python(tmp_path, monkeypatch):
    shop = Shop(tmp_path, "")
    write_states(shop)
    shop.write("macros/doubled.py", "\ndef doubled(value: float) -> float:\n    return value * 2\n")
    shop.write("profiles.yml", PROFILES)
    shop.model("calls", STATES["sums"].replace("count(*)", "sum(doubled(value))"))
    before = queries(shop)
    monkeypatch.setattr("millstream.compile.catalog.python_version", lambda: "3.99")
    shop.write("macros/other.py", "# compiled again")
    after = queries(shop)
    verdicts = {model: verdict_of(before, after, model) for model in before}
    assert {model for model, kind in verdicts.items() if kind != "same"} == {"model.calls"}
    calls = judge_checkpoint(after["model.calls"], new_record("", before["model.calls"], {}), Deployed({}))
    assert "Python is version 3.99 instead of" in calls.reasons[0]


def test_tables_in_another_place(tmp_path):
    verdicts = verdicts_of_targets(tmp_path, "tables: {path: old}", "tables: {path: new}")
    assert verdicts == {"sums": "rebuild", "days": "rebuild", "sent": "same"}


def write_states(shop):
    for name, sql in STATES.items():
        shop.model(name, sql)


def verdicts_of_targets(root, before, after):
    shop = Shop(root, "")
    write_states(shop)
    versions = []
    for settings in (before, after):
        shop.write("profiles.yml", f"shop: {{target: local, outputs: {{local: {TARGET.format(settings)}}}}}")
        versions.append(queries(shop))
    return {name: verdict_of(*versions, f"model.{name}") for name in STATES}


def test_two_time_zones_of_a_target(tmp_path):
    shop = Shop(tmp_path, "")
    settings = "timezone: UTC, spark: {spark.sql.session.timeZone: Asia/Tokyo}"
    shop.write("profiles.yml", f"shop: {{target: local, outputs: {{local: {TARGET.format(settings)}}}}}")
    compiled = compile_project(tmp_path)
    assert [(diagnostic.code, diagnostic.help) for diagnostic in compiled.diagnostics] == [
        ("MS107", "remove it: timezone: UTC sets it")
    ]
