"""Sinks over tables: what an edit of one means for its topic."""

import pytest
from support.runs import job_of
from support.sql_plans import project

from millstream.deploy.topics_needed import written_topics
from millstream.queries.values import PerBatch
from millstream.queries.verdict import compare_signatures

ORDERS = "{{ config(materialized='table', unique_key='user_id') }} select user_id, amount, type from {{ source('shop', 'events') }}"
SUMS = "{{ config(materialized='table', unique_key='type') }} select type, sum(amount) as total from {{ ref('orders') }} group by type"
OUT = (
    "{{ config(materialized='sink', key='type') }} select type, total from {{ ref('sums') }} where total > 1"
)
EDITS = {
    "a filter": (OUT.replace("total > 1", "total > 2"), "stored"),
    "a column": (OUT.replace("type, total", "type, total + 1 as total"), "stored"),
    "a rewrite that means the same": (OUT.replace(" where ", " as s where s."), "same"),
    "white space": (OUT.replace(" where", "\nwhere"), "same"),
}


def query(root, out):
    queries = job_of(project(root, {"orders": ORDERS, "sums": SUMS, "out": out})).physical.queries
    return next(query for query in queries if "model.out" in query.models)


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_leaves_records_as_they_are_until_the_sink_is_rebuilt(tmp_path, edit):
    out, kind = EDITS[edit]
    before, after = query(tmp_path, OUT), query(tmp_path, out)
    assert compare_signatures(before.signature, after.signature).kind == kind


def test_a_sink_over_a_table_follows_it_batch_by_batch(tmp_path):
    sink = query(tmp_path, OUT)
    assert sink.follows_table
    assert isinstance(sink.deliver, PerBatch)
    assert not query(
        tmp_path, OUT.replace("ref('sums')", "source('shop', 'events')").replace("total", "amount")
    ).follows_table


@pytest.mark.parametrize(
    ("condition", "repeatable"),
    [("total > 1", True), ("total > unix_date(current_date())", False), ("rand() < total", False),
     ("current_timestamp > timestamp_seconds(total)", False), ("score(type, 1.0) > total", False)],
)  # fmt: skip
def test_records_are_compared_with_those_before_only_if_these_can_be_computed_again(
    tmp_path, condition, repeatable
):
    assert query(tmp_path, OUT.replace("total > 1", condition)).repeatable == repeatable


def test_an_edit_of_a_sink_that_sends_changes_needs_a_rebuild(tmp_path):
    changes = OUT.replace("key='type'", "key='type', emit='changes'")
    before = query(tmp_path, changes)
    assert (before.follows_table, before.repeatable, before.sends_changes) == (True, True, True)
    edits = {
        changes.replace("total > 1", "total > 2"): "rebuild",
        OUT: "rebuild",
        changes.replace(" where", "\nwhere"): "same",
    }
    for edited, kind in edits.items():
        after = query(tmp_path, edited)
        assert compare_signatures(before.signature, after.signature).kind == kind
        assert compare_signatures(after.signature, before.signature).kind == kind


def test_a_sink_that_sends_changes_shares_no_query_and_its_topic_is_not_compacted(tmp_path):
    changes = OUT.replace("key='type'", "key='type', emit='changes'")
    models = {"orders": ORDERS, "sums": SUMS, "out": OUT, "changed": changes}
    models["read"] = (
        "{{ config(materialized='table', unique_key='type') }} select type, total from {{ ref('changed') }}"
    )
    queries = job_of(project(tmp_path, models)).physical.queries
    changed = next(query for query in queries if "model.changed" in query.stored)
    assert [*changed.stored] == ["model.changed"]
    config = {topic.name: topic.config for topic in written_topics(queries)}
    assert config == {"out": {"cleanup.policy": "compact"}, "changed": {}}
    # A reader takes the row after each change from the records.
    (source,) = next(query for query in queries if "model.read" in query.stored).sources
    assert (source.stream, str(source.columns[0].type)) == ("changed", "struct<type:string,total:bigint>")
