"""Sessions whose process sleeps, whose folder is full, or whose folder is of another user."""

import os
import signal
import subprocess
import sys

import pytest
from support.commands import MILLSTREAM
from support.warm_sessions import sessions_of

MODEL = "select id from {{ source('web', 'events') }}\n"
SILENT = "The warm session of this project does not answer; this command does without it.\n"


@pytest.fixture
def root(tmp_path):
    files = {
        "pyproject.toml": '[project]\nname = "web"\n[tool.millstream]\nname = "web"\n',
        "profiles.yml": "web: {target: local, outputs: {local: {}}}\n",
        "models/sources.yml": "sources: [{name: web, topics: [{name: events, columns: [{name: id, type: bigint}]}]}]\n",
        "models/m.sql": MODEL,
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


@pytest.fixture
def sessions(root):
    with sessions_of(root) as sessions:
        yield sessions


def test_a_session_that_sleeps_is_not_waited_for_and_is_used_when_it_wakes(sessions):
    sessions.start()
    process = sessions.status()["process"]
    os.kill(process, signal.SIGSTOP)
    try:
        asleep = sessions.run("compile")
    finally:
        os.kill(process, signal.SIGCONT)
    assert (asleep.returncode, asleep.stderr) == (0, SILENT)
    awake = sessions.run("compile")
    assert (awake.returncode, awake.stderr) == (0, "")
    assert sessions.status()["process"] == process


@pytest.mark.skipif(os.name == "nt" or os.getuid() != 0, reason="only root can give a folder to another user")
@pytest.mark.parametrize("theirs", ["folder", "session"])
def test_nothing_of_another_user_is_used(sessions, theirs):
    sessions.start()
    folder, name = sessions.address()[1:]
    path = {"folder": folder, "session": f"{folder}/{name}.socket"}[theirs]
    os.chown(path, 65534, -1)
    try:
        alone = sessions.run("compile")
        assert (alone.returncode, alone.stderr) == (0, "")
        if theirs == "session":
            assert sessions.run("session", "status", "--output", "json").stdout.count("null")
    finally:
        os.chown(path, 0, -1)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system of Linux in memory")
@pytest.mark.parametrize("option", ["nr_inodes=1", "size=4k"])
def test_a_folder_of_sessions_that_is_full(root, sessions, option):
    """The command has Spark of its own, and works."""
    (root / "tests").mkdir()
    (root / "tests/unit.yml").write_text(
        "unit_tests: [{name: one, model: m, given: [{input: \"source('web', 'events')\", rows: [{id: 1}]}], "
        "expect: [{id: 1}]}]\n"
    )
    folder = sessions.environment["XDG_RUNTIME_DIR"]
    script = (
        f"mount -t tmpfs -o {option} tmpfs {folder} && (yes > {folder}/filler || true) 2>/dev/null; exec "
    )
    command = ["unshare", "-rm", "sh", "-c", script + " ".join([*MILLSTREAM, "test", "--unit"])]
    done = subprocess.run(
        command, cwd=root, env=sessions.environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout + done.stderr
    assert done.stderr.count("\n") <= 1, done.stderr
