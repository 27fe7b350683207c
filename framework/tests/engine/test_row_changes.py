"""How the rows of two versions of a model differ."""

from millstream.runner.samples.row_changes import RowChange, compare_rows
from millstream.stores.tables.values import Answer


def test_rows_of_two_versions_are_compared():
    before = Answer(("id", "a", "b"), [(1, "x", 1.5), (2, "y", None), (2, "y", None), (3, "z", 0.0)])
    after = Answer(("id", "a", "c"), [(1, "x", 9), (2, "y", 9), (2, "q", 9), (4, "n", 9)])
    changes = compare_rows(before, after, {"id"})
    assert (changes.same, changes.added, changes.removed, changes.changed) == (2, 1, 1, 1)
    assert (changes.new_columns, changes.lost_columns) == (("c",), ("b",))
    old, new = {"id": 2, "a": "y", "b": None}, {"id": 2, "a": "q", "c": 9}
    assert changes.rows == (
        RowChange(old, new, ("a",)),
        RowChange(None, {"id": 4, "a": "n", "c": 9}),
        RowChange({"id": 3, "a": "z", "b": 0.0}, None),
    )
    assert compare_rows(before, after, ()).changed == 0
