"""What is in a folder of files that can't be listed is unknown: it is not an empty folder."""

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from millstream.sources.files.listing import files_in

NOBODY = 65534


@contextmanager
def as_nobody():
    """Be another user than root, who may list any folder."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_folder_that_may_not_be_listed_is_an_error():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "one.json").write_text("")
        secret = folder / "secret"
        secret.mkdir()
        assert [*files_in(name, "", {})] == [f"{name}/one.json"]
        secret.chmod(0)
        with as_nobody(), pytest.raises(PermissionError):
            [*files_in(name, "", {})]
        secret.rmdir()
        assert [*files_in(f"{name}/gone", "", {})] == []
