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
EACH = 200


@pytest.fixture
def older(tmp_path):
    """The code of an older version, in a work tree of its own."""
    folder = tmp_path / "older"
    known = ["git", "-C", str(ROOT), "cat-file", "-e", FROM]
    if subprocess.run(known, check=False, capture_output=True).returncode:
        pytest.skip(f"this clone does not have {FROM}")
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--detach", "--quiet", str(folder), FROM], check=True)
    yield folder / "framework"
    subprocess.run([*git, "remove", "--force", str(folder)], check=True)


@pytest.fixture
def shop(tmp_path):
    made = Shop(tmp_path / "shop", "")
    made.bootstrap = keep_broker(made.root).address
    write_models(made)
    create_topics(made.bootstrap, "events")
    yield made
    stop_broker(made.root, force=True)


def test_a_project_goes_on_with_a_newer_version(shop, older):
    traffic = Traffic(shop.bootstrap)
    for _ in range(2):
        traffic.more(EACH)
        done = command(shop, "build", path=older)
    assert "older" in command(
        shop, "-c", "import millstream; print(millstream.__file__)", path=older, python=True
    )
    before = checkpoints(shop)
    assert before, done

    plan = json.loads(command(shop, "plan", "--output", "json"))
    assert [each for each in plan["queries"] if each["status"] != "same"] == []
    assert plan["same_queries"] == len(before)
    for _ in range(2):
        traffic.more(EACH)
        command(shop, "build")
    assert checkpoints(shop) == before
    check_once(shop, traffic)
    newest = {each["user"]: each["id"] for each in table_rows(shop.root, "model.newest")}
    ids = [each["id"] for each in traffic.good]
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
