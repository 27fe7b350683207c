"""Edits of data tests that keep rows out of a table over tables: it has the rows of a fresh build afterwards."""

import pytest
from edits.test_edited_projects import queries, verdict_of
from edits.test_edited_states import PROFILES
from support.long import every_second_long
from support.runs import built, create_topics, errors, received, statuses, table_rows
from support.shops import Shop

LATEST = "{{ config(materialized='table', unique_key='id') }} select id, user, kind, value from {{ source('web', 'events') }}"
TOTALS = "{{ config(materialized='table', unique_key='kind') }} select kind, count(*) as n from {{ ref('latest') }} group by kind"
CHECKED = "{{ config(materialized='table', unique_key='id') }} select id, max(kind) as kind from {{ ref('latest') }} group by id"
COPIED = "{{ config(materialized='table', unique_key='id') }} select id, kind from {{ ref('latest') }} where value > 0"
TESTS = "models: [{{name: {}, columns: [{{name: kind, tests: [{}]}}]}}]"
VALUES = "accepted_values: {{values: [{}], severity: {}{}}}"
EDITS = {
    "values become wider": (VALUES.format("x", "drop", ""), VALUES.format("x, y", "drop", "")),
    "values become narrower": (VALUES.format("x, y", "drop", ""), VALUES.format("y", "drop", "")),
    "rows become dead letters": (VALUES.format("x, y", "dead_letter", ""), VALUES.format("x, z", "dead_letter", "")),
    "a test begins to drop": (VALUES.format("x", "warn", ""), VALUES.format("x", "drop", "")),
    "a test no longer drops": (VALUES.format("x", "drop", ""), VALUES.format("x", "warn", "")),
    "another condition": ("expression: {expression: \"kind > 'x'\", severity: drop}", "expression: {expression: \"kind > 'y'\", severity: drop}"),
    "where": (VALUES.format("x", "drop", ", where: \"kind <> 'y'\""), VALUES.format("x", "drop", ", where: \"kind <> 'z'\"")),
    "another kind of test": ("not_null: {severity: drop}", "expression: {expression: \"kind <> 'x'\", severity: drop}"),
}  # fmt: skip
SAME = {
    "the order of values": (VALUES.format("x, y", "warn", ""), VALUES.format("y, x", "warn", "")),
    "a test that warns": (VALUES.format("x, y", "warn", ""), VALUES.format("x", "warn", "")),
    "its name": (VALUES.format("x", "drop", ""), VALUES.format("x", "drop", ", description: letters")),
    "dropped or sent": (VALUES.format("x", "drop", ""), VALUES.format("x", "dead_letter", "")),
}
MODELS = {"totals": TOTALS, "checked": CHECKED, "copied": COPIED}


def project(root, bootstrap, tests, model="checked"):
    shop = Shop(root, bootstrap)
    shop.write("profiles.yml", PROFILES)
    shop.model("latest", LATEST)
    for name, sql in MODELS.items():
        shop.model(name, sql)
        shop.write(f"models/{name}.yml", TESTS.format(name, tests if name == model else "not_null"))
    return shop


@pytest.mark.parametrize("model", ["totals", "checked"])
@pytest.mark.parametrize("name", every_second_long([*EDITS, *SAME]))
def test_which_edits_compute_all_rows_again(tmp_path, name, model):
    before, after = (
        queries(project(tmp_path, "", tests, model))[f"model.{model}"].maintaining.digest
        for tests in (EDITS | SAME)[name]
    )
    assert (before != after) == (name in EDITS)


@pytest.mark.parametrize("name", [*EDITS, *SAME])
def test_a_table_that_copies_rows(tmp_path, name):
    before, after = (queries(project(tmp_path, "", tests, "copied")) for tests in (EDITS | SAME)[name])
    assert (verdict_of(before, after, "model.copied") == "stored") == (name in EDITS)


@pytest.mark.long
def test_the_table_has_the_rows_of_a_fresh_build(tmp_path, broker, first_spark):
    shop = project(tmp_path, broker, "not_null")
    write(shop, 0)
    create_topics(broker, "events", partitions=1)
    shop.send(*(("u", {"id": n, "kind": "xyz"[n % 3], "value": 1.0}) for n in range(6)))
    results, _ = built(tmp_path, first_spark)
    assert set(statuses(results).values()) == {"success"}
    before = [rows(shop, index, "local") for index in range(len(EDITS))]
    write(shop, 1)
    results, events = built(tmp_path, first_spark)
    assert not errors(events)
    built(tmp_path, first_spark, target="fresh")
    for index, name in enumerate(EDITS):
        assert rows(shop, index, "local") == rows(shop, index, "fresh") != before[index], name
    letters = [record.value() for record in received(broker, "tested2.dead_letter")]
    assert len(letters) == 6  # those of z at first, then those of y, of both targets


def write(shop, side):
    for index, tests in enumerate(EDITS.values()):
        shop.model(f"tested{index}", CHECKED)
        shop.write(f"models/tested{index}.yml", TESTS.format(f"tested{index}", tests[side]))


def rows(shop, index, target):
    return sorted((row["id"], row["kind"]) for row in table_rows(shop.root, f"model.tested{index}", target))
