"""Changes of a table's files, interrupted before each of their steps: the next command completes them."""

import pytest
from msgspec.structs import replace

from millstream.stores.files import LocalFiles, write_json
from millstream.stores.parquet.folder import ParquetTable
from millstream.stores.parquet.record import (
    FileChanges,
    TableRecord,
    commit,
    data_files,
    drop,
    finish,
    read_record,
)
from millstream.stores.parquet.spark.swap import copy_table, swap_tables

RECORD = TableRecord({"id": "int"}, batches={"w": 0})


class KilledError(Exception):
    pass


class KilledFiles(LocalFiles):
    """Files of a process that is killed before one of its changes."""

    def __init__(self, steps):
        self.steps = steps

    def _step(self):
        if self.steps == 0:
            raise KilledError
        self.steps -= 1

    def write(self, path, content):
        self._step()
        super().write(path, content)

    def remove(self, path):
        self._step()
        super().remove(path)

    def move(self, path, to):
        self._step()
        super().move(path, to)

    def copy(self, folder, to):
        self._step()
        super().copy(folder, to)


def make_table(root, name, *paths):
    """Return a table with files, each of which has its own name as content."""
    table = ParquetTable(str(root), name)
    for path in paths:
        LocalFiles().write(f"{table.folder}/{path}.parquet", path.encode())
    write_json(LocalFiles(), table.record, RECORD)
    return table


def contents(table):
    files = LocalFiles()
    return [files.read(f"{table.folder}/{path}").decode() for path in data_files(files, table)]


def killed_everywhere(tmp_path, prepare, change, *, steps):
    """Try a change that is killed after 0, 1, 2, … steps, and yield what it changed, before it is repeated."""
    for step in range(steps + 1):
        prepared = prepare(tmp_path / str(step))
        if step < steps:
            with pytest.raises(KilledError):
                change(KilledFiles(step), prepared)
        else:
            change(KilledFiles(step), prepared)
        yield prepared


def test_a_batch_is_part_of_a_table_once_its_record_is_written(tmp_path):
    def prepare(root):
        table = make_table(root, "t", "day=1/a", "b")
        for path in ("day=1/c", "d"):
            LocalFiles().write(f"{table.staged}/{path}.parquet", path.encode())
        return table

    staged = {f"_millstream/t/staged/{path}.parquet": f"{path}.parquet" for path in ("day=1/c", "d")}
    next_record = replace(RECORD, batches={"w": 1})
    seen = []
    for table in killed_everywhere(
        tmp_path,
        prepare,
        lambda files, table: commit(files, table, next_record, FileChanges(staged, ("b.parquet",))),
        steps=5,
    ):
        record = finish(LocalFiles(), table)
        seen.append((record.batches["w"], contents(table)))
        assert record.pending is None
    assert seen == [(0, ["b", "day=1/a"]), *[(1, ["d", "day=1/a", "day=1/c"])] * 5]


def test_a_swap_that_is_repeated_has_the_rows_of_the_new_table_once(tmp_path):
    def prepare(root):
        return make_table(root, "t", "day=1/a", "b"), make_table(root, "t.rebuilt", "day=1/a", "day=1/c", "d")

    def swap(files, tables):
        swap_tables(files, tables[1], tables[0], swap="one")

    for tables in killed_everywhere(tmp_path, prepare, swap, steps=5):
        for _ in range(2):
            swap(LocalFiles(), tables)
            assert contents(tables[0]) == ["d", "day=1/a", "day=1/c"]
        drop(LocalFiles(), tables[1])
        swap(LocalFiles(), tables)
        assert contents(tables[0]) == ["d", "day=1/a", "day=1/c"]


def test_a_table_that_is_dropped_or_copied_is_whole_or_none(tmp_path):
    def prepare(root):
        return make_table(root, "t", "a", "b"), make_table(root, "t.previous", "z")

    def drop_table(files, tables):
        drop(files, tables[0])

    def copy(files, tables):
        copy_table(files, *tables)

    for table, _ in killed_everywhere(tmp_path / "drop", prepare, drop_table, steps=3):
        remains = finish(LocalFiles(), table) is not None
        assert contents(table) == (["a", "b"] if remains else [])
    for table, to in killed_everywhere(tmp_path / "copy", prepare, copy, steps=6):
        rows = contents(to) if read_record(LocalFiles(), to) else None
        assert rows in (["a", "b"], ["z"], None)
        copy(LocalFiles(), (table, to))
        assert contents(to) == ["a", "b"]
