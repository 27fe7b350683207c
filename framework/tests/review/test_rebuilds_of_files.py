"""A review says what a rebuild has of files that are removed once they were read."""

import pytest
from support.reviews import query, reviewed

FILES = """
sources:
  - name: lake
    files:
      - {{name: sales, path: data/sales, format: json, {}columns: [{{name: shop, type: string}}]}}
"""
COUNTS = (
    "{{{{ config(materialized='table', unique_key='shop') }}}} "
    "select shop, {} as sales from {{{{ source('lake', 'sales') }}}} group by shop"
)


@pytest.mark.parametrize(
    ("option", "start"),
    [("", "its start"), ("clean_up: delete, ", "what it still has: files that were read are removed")],
)
def test_it_starts_with_what_the_folder_still_has(tmp_path, option, start):
    before = {"models/lake.yml": FILES.format(option), "counts": COUNTS.format("count(*)")}
    review = reviewed(tmp_path, before, {"counts": COUNTS.format("sum(2)")})
    (read,) = query(review, "counts").replay.reads
    assert (read.topic, read.start) == ("lake.sales", start)


def test_to_remove_files_changes_no_query(tmp_path):
    before = {"models/lake.yml": FILES.format(""), "counts": COUNTS.format("count(*)")}
    review = reviewed(tmp_path, before, {"models/lake.yml": FILES.format("clean_up: delete, ")})
    assert [change for change in review.queries if change.status not in {"same", "unchanged"}] == []


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("skip", "fail", "lines that were skipped stay left out, and would stop a rebuild"),
        (
            "skip",
            "dead_letter",
            "lines that were skipped become dead letters, too, if their files still exist",
        ),
        ("dead_letter", "fail", "lines that are dead letters stay left out, and would stop a rebuild"),
        ("dead_letter", "skip", "lines that are dead letters stay so"),
        ("fail", "skip", None),
    ],
)
def test_what_becomes_of_bad_lines_that_were_read_before(tmp_path, before, after, sentence):
    was, now = (FILES.format(f"on_bad_record: {fate}, ") for fate in (before, after))
    review = reviewed(
        tmp_path, {"models/lake.yml": was, "counts": COUNTS.format("count(*)")}, {"models/lake.yml": now}
    )
    (source,) = (node for node in review.nodes if node.kind == "source")
    assert source.what == (f"on_bad_record is `{after}`, was `{before}`", *([sentence] if sentence else []))
    assert [change.status for change in review.queries if change.name == "counts"] == []


def test_what_becomes_of_versions_that_were_skipped(tmp_path):
    source = "sources: [{{name: lake, delta_tables: [{{name: sales, path: data, {}columns: [{{name: shop, type: string}}]}}]}}]"
    before = {"models/lake.yml": source.format("skip_changes: true, "), "counts": COUNTS.format("count(*)")}
    review = reviewed(tmp_path, before, {"models/lake.yml": source.format("")})
    (changed,) = (node for node in review.nodes if node.kind == "source")
    assert changed.what[-1] == "versions that were skipped stay left out, and would stop a rebuild"


def test_topics_of_a_pattern_are_no_change(tmp_path):
    """Which topics match is not part of the project; another pattern is another source."""
    source = "sources: [{{name: web, topics: [{{name: hits, topic_pattern: '{}', columns: [{{name: shop, type: string}}]}}]}}]"
    counts = COUNTS.format("count(*)").replace("'lake', 'sales'", "'web', 'hits'")
    before = {"models/web.yml": source.format("hits_.*"), "counts": counts}
    assert query(reviewed(tmp_path, before, {}), "counts") is None
    review = reviewed(tmp_path, before, {"models/web.yml": source.format("(?:hits|clicks)_.*")})
    assert query(review, "counts").status == "rebuild"
    assert "hits_.*" in " ".join(query(review, "counts").reasons)
