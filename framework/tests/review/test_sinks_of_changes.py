"""A sink over a table that sends its changes with the rows before and after: what a review says of that."""

from support.reviews import compared, version, written

MODELS = {
    "newest": "{{ config(materialized='table', unique_key='user_id') }} select user_id, amount from {{ source('shop', 'events') }}",
    "sent": "{{ config(materialized='sink', key='user_id') }} select user_id, amount from {{ ref('newest') }}",
}


def test_other_records_break_readers_and_need_a_rebuild(tmp_path):
    base = version(written(tmp_path / "base", MODELS), "main")
    after = MODELS | {"sent": MODELS["sent"].replace("key=", "emit='changes', key=")}
    report = compared(base, tmp_path / "after", after)
    (contract,) = report.contracts
    assert "its records are changes with the rows before and after instead of rows" in contract.breaking
    (query,) = report.queries
    assert (query.name, query.status) == ("sent", "rebuild")
    (node,) = report.nodes
    assert "its records are `changes with the rows before and after`, was `rows`" in node.what
