"""Which edits of `partition_by` need a rebuild: those of stores whose tables have fixed partitions."""

import pytest
from support.runs import job_of
from support.shops import PROFILES, Shop

from millstream.queries.verdict import compare_signatures

RAW = """
    {{{{ config(materialized='table', store='{}', partition_by='{}') }}}}
    select id, kind, value from {{{{ source('web', 'events') }}}}
"""


def signature(root, store, partitions):
    shop = Shop(root, "")
    shop.write(
        "profiles.yml", PROFILES.replace("kafka: embedded", "kafka: embedded, tables: {iceberg_path: lake}")
    )
    shop.model("raw", RAW.format(store, partitions))
    (query,) = job_of(root).physical.queries
    return query.signature


@pytest.mark.parametrize(("store", "kind"), [("delta", "rebuild"), ("iceberg", "same")])
def test_other_partitions_need_a_rebuild_where_all_files_have_the_same(tmp_path, store, kind):
    deployed = signature(tmp_path / "deployed", store, "kind")
    assert compare_signatures(deployed, signature(tmp_path / "edited", store, "value")).kind == kind
