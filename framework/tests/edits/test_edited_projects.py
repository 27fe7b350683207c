"""Edits of files other than a model's own SQL: told from the plan."""

import pytest
from edits.projects import EDITS, IMPORTED
from edits.test_edited_states import OTHERS, PROFILES
from support.runs import job_of
from support.shops import Shop

from millstream.compile import compile_project
from millstream.deployment.records import Deployed, new_record
from millstream.deployment.stages import fit


def write(shop, edits, side):
    shop.write("profiles.yml", PROFILES)
    shop.more(OTHERS)
    for edit in edits:
        for path, text in getattr(edit, side).items():
            shop.write(path, "\n" + text)


def queries(shop):
    """Return the query of each model."""
    return {output.model: query for query in job_of(shop.root).physical.queries for output in query.outputs}


def told(before, after, model):
    found = fit(after[model], new_record("", before[model], {}), Deployed({}))
    return found.kind


def test_the_verdict_of_each_edit(tmp_path):
    shop, edits = Shop(tmp_path, ""), (*EDITS, *IMPORTED)
    write(shop, edits, "before")
    before = queries(shop)
    write(shop, edits, "after")
    after = queries(shop)
    found = {edit.name: told(before, after, f"model.{edit.model}") for edit in edits}
    assert found == {edit.name: edit.verdict for edit in edits}


TARGET = "{{master: 'local[2]', kafka: embedded, grouping: off, {}}}"
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
    expected = same | {"sums": "rebuild", "days": "forward"} if counts else same
    assert verdicts_of_targets(tmp_path, before, after) == expected


def test_tables_in_another_place(tmp_path):
    found = verdicts_of_targets(tmp_path, "tables: {path: old}", "tables: {path: new}")
    assert found == {"sums": "rebuild", "days": "rebuild", "sent": "same"}


def verdicts_of_targets(root, before, after):
    shop = Shop(root, "")
    for name, sql in STATES.items():
        shop.model(name, sql)
    found = []
    for settings in (before, after):
        shop.write("profiles.yml", f"shop: {{target: local, outputs: {{local: {TARGET.format(settings)}}}}}")
        found.append(queries(shop))
    return {name: told(*found, f"model.{name}") for name in STATES}


def test_two_time_zones_of_a_target(tmp_path):
    shop = Shop(tmp_path, "")
    settings = "timezone: UTC, spark: {spark.sql.session.timeZone: Asia/Tokyo}"
    shop.write("profiles.yml", f"shop: {{target: local, outputs: {{local: {TARGET.format(settings)}}}}}")
    compiled = compile_project(tmp_path)
    assert [(each.code, each.help) for each in compiled.diagnostics] == [
        ("MS107", "remove it: timezone: UTC sets it")
    ]
