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


def test_topics_of_a_pattern_are_no_change(tmp_path):
    """Which topics match is not part of the project; another pattern is another source."""
    source = "sources: [{{name: web, topics: [{{name: hits, topic_pattern: '{}', columns: [{{name: shop, type: string}}]}}]}}]"
    counts = COUNTS.format("count(*)").replace("'lake', 'sales'", "'web', 'hits'")
    before = {"models/web.yml": source.format("hits_.*"), "counts": counts}
    assert query(reviewed(tmp_path, before, {}), "counts") is None
    review = reviewed(tmp_path, before, {"models/web.yml": source.format("(?:hits|clicks)_.*")})
    assert query(review, "counts").status == "rebuild"
    assert "hits_.*" in " ".join(query(review, "counts").reasons)
