"""A project that an older version has built goes on with this one: nothing is rebuilt, no record is lost or repeated.

`MILLSTREAM_FROM=v1.2.0 uv run pytest -m long framework/tests/release/test_upgrades.py` upgrades from another commit.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import MILLSTREAM
from support.exactly_once import USERS, Traffic, check_once, write_models
from support.runs import create_topics, table_rows
from support.shops import Shop

from millstream.local.broker import keep_broker, stop_broker

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

ROOT = Path(__file__).resolve().parents[3]
FROM = os.environ.get("MILLSTREAM_FROM", "0d6ad91f7460")
RECORDS = 200


@pytest.fixture
def older(tmp_path):
    """The code of an older version, in a work tree of its own."""
    folder = tmp_path / "older"
    cat_file = ["git", "-C", str(ROOT), "cat-file", "-e", FROM]
    if subprocess.run(cat_file, check=False, capture_output=True).returncode:
        pytest.skip(f"this clone does not have {FROM}")
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--detach", "--quiet", str(folder), FROM], check=True)
    yield folder / "framework"
    subprocess.run([*git, "remove", "--force", str(folder)], check=True)


@pytest.fixture
def shop(tmp_path):
    project = Shop(tmp_path / "shop", "")
    project.bootstrap = keep_broker(project.root).address
    write_models(project)
    create_topics(project.bootstrap, "events")
    yield project
    stop_broker(project.root, force=True)


def test_a_project_goes_on_with_a_newer_version(shop, older):
    traffic = Traffic(shop.bootstrap)
    for _ in range(2):
        traffic.more(RECORDS)
        done = command(shop, "build", path=older)
    assert "older" in command(
        shop, "-c", "import millstream; print(millstream.__file__)", path=older, python=True
    )
    before = checkpoints(shop)
    assert before, done

    plan = json.loads(command(shop, "plan", "--output", "json"))
    assert [query for query in plan["queries"] if query["status"] != "same"] == []
    assert plan["same_queries"] == len(before)
    for _ in range(2):
        traffic.more(RECORDS)
        command(shop, "build")
    assert checkpoints(shop) == before
    check_once(shop, traffic)
    newest = {row["user"]: row["id"] for row in table_rows(shop.root, "model.newest")}
    ids = [record["id"] for record in traffic.good]
    assert newest == {f"u{user}": max(id_ for id_ in ids if id_ % USERS == user) for user in range(USERS)}


def checkpoints(shop):
    """Return the id of each query's checkpoint; a rebuild has another one."""
    files = (shop.root / ".millstream/local/checkpoints").glob("*/millstream.json")
    return {file.parent.name: json.loads(file.read_bytes())["id"] for file in files}


def command(shop, *arguments, path=None, python=False):
    environment = os.environ | ({"PYTHONPATH": str(path)} if path else {})
    start = (sys.executable,) if python else MILLSTREAM
    done = subprocess.run(
        [*start, *arguments], cwd=shop.root, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
