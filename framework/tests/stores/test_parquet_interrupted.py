"""Changes of a table's files, interrupted before each of their steps: the next command completes them."""

import pytest
from msgspec.structs import replace
from support.spark import SPARK_WARNINGS

from millstream.stores.files import LocalFiles, write_json
from millstream.stores.hadoop_files import HadoopFiles
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

pytestmark = [SPARK_WARNINGS, pytest.mark.usefixtures("first_spark")]

RECORD = TableRecord({"id": "int"}, batches={"w": 0})


class KilledError(Exception):
    pass


class KilledFiles:
    """Files of a process that is killed before one of its changes."""

    def __init__(self, files, steps):
        self.files, self.steps = files, steps

    def __getattr__(self, name):
        method = getattr(self.files, name)
        if name not in {"write", "remove", "move", "copy"}:
            return method

        def step(*arguments):
            if self.steps == 0:
                raise KilledError
            self.steps -= 1
            return method(*arguments)

        return step


@pytest.fixture(params=["python", "hadoop"])
def storage(request, tmp_path):
    """Return files, and where tables can be."""
    if request.param == "python":
        return LocalFiles(), str(tmp_path)
    return HadoopFiles(request.getfixturevalue("spark")), f"file://{tmp_path}"


def make_table(files, root, name, *paths):
    """Return a table with files, each of which has its own name as content."""
    table = ParquetTable(root, name)
    for path in paths:
        files.write(f"{table.folder}/{path}.parquet", path.encode())
    write_json(files, table.record, RECORD)
    return table


def contents(files, table):
    return [files.read(f"{table.folder}/{path}").decode() for path in data_files(files, table)]


def killed_everywhere(files, root, prepare, change, *, steps):
    """Try a change that is killed after 0, 1, 2, … steps, and yield what it changed, before it is repeated."""
    for step in range(steps + 1):
        prepared = prepare(f"{root}/{step}")
        if step < steps:
            with pytest.raises(KilledError):
                change(KilledFiles(files, step), prepared)
        else:
            change(KilledFiles(files, step), prepared)
        yield prepared


def test_a_batch_is_part_of_a_table_once_its_record_is_written(storage):
    files, folder = storage

    def prepare(root):
        table = make_table(files, root, "t", "day=1/a", "b")
        for path in ("day=1/c", "d"):
            files.write(f"{table.staged}/{path}.parquet", path.encode())
        return table

    staged = {f"_millstream/t/staged/{path}.parquet": f"{path}.parquet" for path in ("day=1/c", "d")}
    next_record = replace(RECORD, batches={"w": 1})
    seen = []
    for table in killed_everywhere(
        files,
        folder,
        prepare,
        lambda killed, table: commit(killed, table, next_record, FileChanges(staged, ("b.parquet",))),
        steps=5,
    ):
        record = finish(files, table)
        seen.append((record.batches["w"], contents(files, table)))
        assert record.pending is None
    assert seen == [(0, ["b", "day=1/a"]), *[(1, ["d", "day=1/a", "day=1/c"])] * 5]


def test_a_swap_that_is_repeated_has_the_rows_of_the_new_table_once(storage):
    files, folder = storage

    def prepare(root):
        return make_table(files, root, "t", "day=1/a", "b"), make_table(
            files, root, "t.rebuilt", "day=1/a", "day=1/c", "d"
        )

    def swap(killed, tables):
        swap_tables(killed, tables[1], tables[0], swap="one")

    for tables in killed_everywhere(files, folder, prepare, swap, steps=5):
        for _ in range(2):
            swap(files, tables)
            assert contents(files, tables[0]) == ["d", "day=1/a", "day=1/c"]
        drop(files, tables[1])
        swap(files, tables)
        assert contents(files, tables[0]) == ["d", "day=1/a", "day=1/c"]


def test_a_table_that_is_dropped_or_copied_is_whole_or_none(storage):
    files, folder = storage

    def prepare(root):
        return make_table(files, root, "t", "a", "b"), make_table(files, root, "t.previous", "z")

    def drop_table(killed, tables):
        drop(killed, tables[0])

    def copy(killed, tables):
        copy_table(killed, *tables)

    for table, _ in killed_everywhere(files, f"{folder}/drop", prepare, drop_table, steps=3):
        remains = finish(files, table) is not None
        assert contents(files, table) == (["a", "b"] if remains else [])
    for table, to in killed_everywhere(files, f"{folder}/copy", prepare, copy, steps=6):
        rows = contents(files, to) if read_record(files, to) else None
        assert rows in (["a", "b"], ["z"], None)
        copy(files, (table, to))
        assert contents(files, to) == ["a", "b"]


def test_a_file_is_moved_once(storage):
    files, folder = storage
    for name in ("staged", "moved"):
        files.write(f"{folder}/{name}/a", b"a")
    assert files.size(folder) == 2
    for _ in range(2):
        files.move(f"{folder}/staged/a", f"{folder}/moved/a")
        assert files.paths(folder) == ["moved/a"]
    with pytest.raises(FileNotFoundError):
        files.move(f"{folder}/staged/b", f"{folder}/moved/b")
    assert files.read(f"{folder}/staged/a") is None
    # As after a kill between the copy and its end, in storage that copies.
    files.write(f"{folder}/staged/a", b"a")
    files.move(f"{folder}/staged/a", f"{folder}/moved/a")
    assert (files.paths(folder), files.read(f"{folder}/moved/a")) == (["moved/a"], b"a")
