"""Edits of a topic that change its values reach every model that reads them, in whatever way."""

import pytest
from edits.readers import BETWEEN, COLUMNS, EDITS, FUNCTIONS, MODELS, SAME, UNREAD, TopicEdit
from edits.test_edited_projects import queries, told
from support.shops import Shop

KEY = "key: {name: user, type: string}"
SOURCE = "sources: [{{name: ref, topics: [{{name: people, table: true, {}}}]}}]"


def before_and_after(root, edit):
    """Return the queries of all readers of a topic before and after its edit."""
    shop = Shop(root, "")
    shop.write(
        "profiles.yml",
        'shop: {target: local, outputs: {local: {master: "local[2]", kafka: embedded, grouping: off}}}',
    )
    shop.write("macros/f.py", FUNCTIONS)
    for name, sql in (*MODELS.items(), *BETWEEN.items()):
        shop.model(name, sql)
    found = []
    for text in (edit.before, edit.after):
        key = "" if "key:" in text else f"{KEY}, "
        shop.write("models/ref.yml", SOURCE.format(key + text))
        found.append(queries(shop))
    return found


@pytest.mark.parametrize("edit", EDITS, ids=[each.name for each in EDITS])
def test_no_reader_goes_on_with_other_values(tmp_path, edit):
    before, after = before_and_after(tmp_path, edit)
    found = {name: told(before, after, f"model.{name}") for name in MODELS}
    same = {name for name, kind in found.items() if kind == "same"}
    assert same <= ({UNREAD} if not edit.whole else set())


@pytest.mark.parametrize("edit", SAME, ids=[each.name for each in SAME])
def test_readers_go_on_if_their_values_are_the_same(tmp_path, edit):
    before, after = before_and_after(tmp_path, edit)
    found = {name: told(before, after, f"model.{name}") for name in MODELS}
    whole = {name for name in found if name.split("_")[0] in {"in", "not", "scalar"}}
    assert {name for name, kind in found.items() if kind != "same"} <= whole


def test_another_isolation_level_of_what_a_table_reads(tmp_path):
    levels = [
        f"options: {{isolation.level: read_{each}}}, columns: [{COLUMNS}]"
        for each in ("committed", "uncommitted")
    ]
    before, after = before_and_after(tmp_path, TopicEdit("", *levels, whole=True))
    assert {name for name in MODELS if told(before, after, f"model.{name}") == "same"} == set()
