"""Git ignores the folder of a project's own data, whichever command creates it, also without a .gitignore of the project."""

import subprocess

import pytest

from millstream.core.own_folder import make_folder
from millstream.engine.spark.log import write_log_config
from millstream.engine.spark.target_lock import target_lock
from millstream.stores.files import LocalFiles


def lock(folder):
    with target_lock(folder, "local"):
        pass


def log(folder):
    write_log_config(folder / "log")


def checkpoint(folder):
    LocalFiles().write(str(folder / "checkpoints/a/record"), b"x")


@pytest.mark.parametrize("create", [lock, log, checkpoint])
def test_git_ignores_what_a_command_writes(tmp_path, create):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / "project").mkdir()
    create(tmp_path / "project/.millstream/local")
    status = ["git", "-C", str(tmp_path), "status", "--porcelain", "--untracked-files=all"]
    assert subprocess.run(status, check=True, capture_output=True, text=True).stdout == ""


def test_a_changed_file_stays_and_other_folders_get_none(tmp_path):
    folder = tmp_path / ".millstream"
    make_folder(folder / "local")
    (folder / ".gitignore").write_text("logs\n")
    make_folder(folder / "other")
    assert (folder / ".gitignore").read_text() == "logs\n"
    make_folder(tmp_path / "elsewhere/checkpoints")
    assert not list((tmp_path / "elsewhere").rglob(".gitignore"))
