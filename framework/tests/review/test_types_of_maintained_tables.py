"""A column of a table over tables gets another type: nothing changes it in place, and `apply` rebuilds the table."""

from support.reviews import compared, query, version, written

MODELS = {
    "newest": "{{ config(materialized='table', unique_key='user_id') }} select user_id, cast(amount as int) as amount from {{ source('shop', 'events') }}",
    "largest": "{{ config(materialized='table', unique_key='amount') }} select amount, max(amount) as most from {{ ref('newest') }} group by amount",
}


def test_the_table_is_rebuilt(tmp_path):
    base = version(written(tmp_path / "base", MODELS), "main")
    after = MODELS | {"largest": MODELS["largest"].replace("max(amount)", "max(cast(amount as bigint))")}
    report = compared(base, tmp_path / "after", after)
    (contract,) = report.contracts
    assert "deploy it with `millstream apply`, which replaces the table" in contract.todo
    rebuilt = query(report, "largest")
    assert rebuilt.status == "rebuild"
    assert rebuilt.reasons == ("the column most of largest is bigint instead of int",)


def test_a_new_column_rebuilds_nothing(tmp_path):
    base = version(written(tmp_path / "base", MODELS), "main")
    after = MODELS | {"largest": MODELS["largest"].replace(" as most", " as most, count(*) as n")}
    assert query(compared(base, tmp_path / "after", after), "largest") is None


def test_no_rows_stay_under_old_keys(tmp_path):
    base = version(written(tmp_path / "base", MODELS), "main")
    after = MODELS | {
        "largest": MODELS["largest"].replace("max(amount) as most", "max(amount) as most, count(*) as n")
    }
    for contract in compared(base, tmp_path / "after", after).contracts:
        assert not [note for note in contract.notes if "under old values" in note]


def test_readers_of_a_table_whose_columns_get_other_types_are_rebuilt(tmp_path):
    newest = MODELS["newest"].replace(" as amount", " as amount, cast(user_id as string) as label")
    base = version(written(tmp_path / "base", MODELS | {"newest": newest}), "main")
    after = MODELS | {"newest": newest.replace("as string) as label", "as int) as label")}
    rebuilt = query(compared(base, tmp_path / "after", after), "largest")
    assert rebuilt.status == "rebuild"
    reason = "the column label of newest, whose changes it reads, is int instead of string"
    assert rebuilt.reasons == (reason,)


def test_readers_of_a_table_whose_unread_column_gets_another_name_continue(tmp_path):
    newest = MODELS["newest"].replace(" as amount", " as amount, cast(user_id as string) as label")
    base = version(written(tmp_path / "base", MODELS | {"newest": newest}), "main")
    after = MODELS | {"newest": newest.replace("as label", "as title")}
    report = compared(base, tmp_path / "after", after)
    assert query(report, "largest") is None
    (contract,) = report.contracts
    removed = "`apply` removes it unless other models follow the changes of the table"
    assert contract.todo == (f"the column `label` gets no more values; {removed}",)
