"""Reviews of projects that read a kind of source that an installed package adds."""

import pytest
from support.kinds import LAKE, parquet_folders  # noqa: F401 - a fixture
from support.reviews import query, reviewed

from millstream.review.formats.markdown import write_comment
from millstream.review.formats.text import text_lines

pytestmark = pytest.mark.usefixtures("parquet_folders")

TOTALS = """{{ config(materialized='table', unique_key='customer') }}
select customer, sum(amount) as total from {{ source('lake', 'orders') }} group by customer"""
BEFORE = {"models/lake.yml": LAKE, "totals": TOTALS}


def test_another_folder_is_another_source(tmp_path):
    after = BEFORE | {"models/lake.yml": LAKE.replace("path: lake/orders", "path: lake/newer")}
    change = query(reviewed(tmp_path, BEFORE, after), "totals")
    assert change.status == "rebuild"
    assert "path of lake.orders is lake/newer instead of lake/orders" in change.reasons


def test_a_column_that_is_computed_differently(tmp_path):
    after = BEFORE | {"models/lake.yml": LAKE.replace("amount * 2", "amount + amount")}
    (source,) = (node for node in reviewed(tmp_path, BEFORE, after).nodes if node.kind == "source")
    assert source.what == ("computes `doubled` differently",)


def test_a_rebuild_reads_what_the_source_has(tmp_path):
    review = reviewed(tmp_path, BEFORE, BEFORE | {"totals": TOTALS.replace("sum(", "max(")})
    reads = "reads Parquet folder lake.orders from its start"
    assert any(reads in line.text for line in text_lines(review))
    assert "reads Parquet folder `lake.orders` from its start" in write_comment(review)


@pytest.mark.parametrize("kind", ["files", "topics"])
def test_only_topics_have_records_that_others_rely_on(tmp_path, kind):
    path = "path: data, format: json" if kind == "files" else "key: {name: k, type: string}"
    source = (
        f"sources: [{{name: old, {kind}: [{{name: rows, {path}, columns: [{{name: id, type: string}}]}}]}}]\n"
    )
    model = "{{ config(materialized='table', unique_key='id') }} select id from {{ source('old', 'rows') }}"
    before = {"models/old.yml": source, "kept": model}
    review = reviewed(
        tmp_path, before, {"models/old.yml": source.replace("id, type: string", "id, type: boolean")}
    )
    breaking = [change.name for change in review.contracts if change.kind == "topic" and change.breaking]
    assert breaking == (["rows"] if kind == "topics" else [])
