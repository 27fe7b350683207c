"""A column of a table over tables gets another type: no command changes it in place, and `apply` rebuilds nothing."""

from support.reviews import compared, version, written

MODELS = {
    "newest": "{{ config(materialized='table', unique_key='user_id') }} select user_id, cast(amount as int) as amount from {{ source('shop', 'events') }}",
    "largest": "{{ config(materialized='table', unique_key='amount') }} select amount, max(amount) as most from {{ ref('newest') }} group by amount",
}


def test_the_review_names_the_command_that_replaces_the_table(tmp_path):
    base = version(written(tmp_path / "base", MODELS), "main")
    after = MODELS | {"largest": MODELS["largest"].replace("max(amount)", "max(cast(amount as bigint))")}
    (contract,) = compared(base, tmp_path / "after", after).contracts
    assert "`build`, `run` and `apply` can't change the type of `most` to bigint" in contract.breaking
    command = "millstream build --full-refresh --select largest (this first removes what is stored)"
    assert f"replace the table: {command}; the next build computes what reads it again" in contract.todo


def test_no_rows_stay_under_old_keys(tmp_path):
    base = version(written(tmp_path / "base", MODELS), "main")
    after = MODELS | {
        "largest": MODELS["largest"].replace("max(amount) as most", "max(amount) as most, count(*) as n")
    }
    for contract in compared(base, tmp_path / "after", after).contracts:
        assert not [each for each in contract.notes if "under old values" in each]
