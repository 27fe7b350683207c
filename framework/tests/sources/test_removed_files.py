"""Files that were read are moved to an archive, also on another file system, and also after a kill."""

import os
import shutil
import uuid
from pathlib import Path

import pytest
from support.loading import load

from millstream.sources.files.clean_up import remove_read

SHARED_MEMORY = Path("/dev/shm")
FILES = """
sources:
  - name: lake
    files:
      - name: orders
        path: data/orders
        format: text
        clean_up: archive
        archive_path: {}
        columns: [{{name: line, type: string}}]
"""


def written(file):
    return file.stat().st_mtime_ns // 1_000_000


@pytest.fixture(params=["same", "another"])
def archive(request, tmp_path):
    folder = (
        tmp_path / "read" if request.param == "same" else SHARED_MEMORY / f"millstream-{uuid.uuid4().hex}"
    )
    if request.param == "another" and not (
        SHARED_MEMORY.is_dir() and SHARED_MEMORY.stat().st_dev != tmp_path.stat().st_dev
    ):
        pytest.skip("there is no other file system")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_each_file_is_in_the_archive_once(tmp_path, archive):
    project, errors = load(tmp_path, {"models/lake.yml": FILES.format(archive)})
    assert errors == []
    source = project.sources["lake.orders"]
    file = tmp_path / "data/orders/day/one.txt"
    file.parent.mkdir(parents=True)
    file.write_text("a")
    times = {str(file): written(file)}
    assert remove_read(source, project, {str(file): times[str(file)] - 1}) == 0
    # It was copied and not removed when a run was killed.
    (archive / "day").mkdir(parents=True)
    shutil.copy2(file, archive / "day/one.txt")
    assert remove_read(source, project, times | {str(file.with_name("gone")): 1}) == 1
    assert [path.name for path in (archive / "day").iterdir()] == ["one.txt"]
    file.write_text("b")
    os.utime(file, (10**9, 10**9))
    assert remove_read(source, project, {str(file): written(file)}) == 1
    assert {path.name: path.read_text() for path in (archive / "day").iterdir()} == {
        "one.txt": "a",
        "one.1.txt": "b",
    }
    assert [*file.parent.iterdir()] == []
