"""With `deletion_vectors`, a change of few rows rewrites no file, and readers without Spark see it."""

import pytest
from deltalake import DeltaTable
from support.stored import Store, minute

pytestmark = pytest.mark.long


@pytest.fixture
def stored(spark, tmp_path):
    def made(**more):
        found = Store(spark, tmp_path, {"store": "delta", "path": "tables", **more})
        found.create(retention=None)
        return found

    return made


def used(root):
    paths = DeltaTable(str(root / "tables/latest")).file_uris()
    return {path.rpartition("/")[2] for path in paths}


ROWS = [(name, minute(0), 1) for name in "abcdefgh"]
CHANGES = [("a", minute(1), 2), ("b", minute(1), 2, True), ("z", minute(1), 2)]
AFTER = [("a", 2), *((name, 1) for name in "cdefgh"), ("z", 2)]


@pytest.mark.parametrize("local", [False, True])
def test_changed_rows_are_marked_as_removed(stored, tmp_path, local):
    table = stored(deletion_vectors=True)
    table.local = local
    table.batch(*ROWS)
    before = used(tmp_path)
    table.batch(*CHANGES)
    assert table.read('"user", value') == AFTER
    assert before < used(tmp_path)


def test_the_option_is_changed_for_a_table_with_rows(stored, tmp_path):
    stored().batch(*ROWS)
    table = stored(deletion_vectors=True)
    table.number = 0
    before = used(tmp_path)
    table.batch(*CHANGES)
    assert before < used(tmp_path)
    again = stored(deletion_vectors=False)
    again.number = 1
    before = used(tmp_path)
    again.batch(("c", minute(2), 3))
    assert not before <= used(tmp_path)
    assert again.read('"user", value') == [("a", 2), ("c", 3), *AFTER[2:]]


def test_small_files_are_joined_from_time_to_time(stored, tmp_path):
    table = stored(deletion_vectors=True)
    table.local = True
    for number in range(52):
        table.batch((f"user {number:02}", minute(0), number))
    assert len(used(tmp_path)) < 10
    assert [value for (value,) in table.read("value")] == list(range(52))
