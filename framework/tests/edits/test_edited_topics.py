"""Edits of a topic that change its values reach every model that reads them, in whatever way."""

import pytest
from edits.readers import BETWEEN, COLUMNS, EDITS, FUNCTIONS, MODELS, SAME, UNREAD, TopicEdit
from edits.test_edited_projects import queries, verdict_of
from edits.test_edited_states import PROFILES
from support.runs import job_of
from support.shops import Shop

from millstream.deploy.planning.records import Deployed, new_record
from millstream.deploy.planning.reuse_running import plan_on_running
from millstream.deploy.planning.stages import judge_checkpoint

KEY = "key: {name: user, type: string}"
SOURCE = "sources: [{{name: ref, topics: [{{name: people, table: true, {}}}]}}]"


def topic_of(text):
    return SOURCE.format(text if "key:" in text else f"{KEY}, {text}")


def written(root, text):
    """Return a project with all readers of a topic."""
    shop = Shop(root, "")
    shop.write("profiles.yml", PROFILES)
    shop.write("macros/f.py", FUNCTIONS)
    for name, sql in (*MODELS.items(), *BETWEEN.items()):
        shop.model(name, sql)
    shop.write("models/ref.yml", topic_of(text))
    return shop


def before_and_after(root, edit):
    """Return the queries of all readers of a topic before and after its edit."""
    return [queries(written(root, text)) for text in (edit.before, edit.after)]


@pytest.mark.parametrize("edit", EDITS, ids=[edit.name for edit in EDITS])
def test_no_reader_goes_on_with_other_values(tmp_path, edit):
    before, after = before_and_after(tmp_path, edit)
    verdicts = {name: verdict_of(before, after, f"model.{name}") for name in MODELS}
    same = {name for name, kind in verdicts.items() if kind == "same"}
    assert same <= ({UNREAD} if not edit.changes_others else set())


@pytest.mark.parametrize("edit", SAME, ids=[edit.name for edit in SAME])
def test_readers_go_on_if_their_values_are_the_same(tmp_path, edit):
    before, after = before_and_after(tmp_path, edit)
    verdicts = {name: verdict_of(before, after, f"model.{name}") for name in MODELS}
    subqueries = {name for name in verdicts if name.split("_")[0] in {"in", "not", "scalar"}}
    assert {name for name, kind in verdicts.items() if kind != "same"} <= subqueries


def test_another_isolation_level_of_what_a_table_reads(tmp_path):
    levels = [
        f"options: {{isolation.level: read_{level}}}, columns: [{COLUMNS}]"
        for level in ("committed", "uncommitted")
    ]
    before, after = before_and_after(tmp_path, TopicEdit("", *levels, changes_others=True))
    assert {name for name in MODELS if verdict_of(before, after, f"model.{name}") == "same"} == set()


HARMLESS = (
    ("p.weight > 5", "5 < p.weight"),
    ("p.user = e.user", "e.user = p.user"),
    ("count(*)", "count(1)"),
)


@pytest.mark.parametrize("edit", EDITS, ids=[edit.name for edit in EDITS])
def test_sql_that_means_the_same_is_not_kept_over_other_values(tmp_path, edit):
    shop = written(tmp_path, edit.before)
    old = job_of(shop.root)
    shop.write("models/ref.yml", topic_of(edit.after))
    for name, sql in MODELS.items():
        for text, other in HARMLESS:
            sql = sql.replace(text, other)  # noqa: PLW2901
        shop.model(name, sql)
    new = job_of(shop.root)
    running = Deployed({query.name: new_record("", query, {}) for query in old.physical.queries})
    physical = plan_on_running(new.topology, new.physical, running, old.catalog).physical
    verdicts = {
        model: judge_checkpoint(query, running.records[query.name], running).kind
        for query in physical.queries
        for model in query.stored
        if query.name in running.records
    }
    same = {name for name in MODELS if verdicts[f"model.{name}"] == "same"}
    assert same <= ({UNREAD} if not edit.changes_others else set())
