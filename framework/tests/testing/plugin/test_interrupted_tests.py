"""Ctrl-C while `millstream test` runs."""

import subprocess

from support.commands import MILLSTREAM
from support.sql_plans import project

TEST = """\
import os
import signal
import time


def test_slow():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""


def test_an_interrupted_test_is_no_failed_one(tmp_path):
    root = project(tmp_path, {"m": "select user_id from {{ source('shop', 'events') }}\n"})
    (root / "tests").mkdir(exist_ok=True)
    (root / "tests/test_slow.py").write_text(TEST)
    ended = subprocess.run(
        [*MILLSTREAM, "test"], cwd=root, capture_output=True, text=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stderr.strip()) == (130, "Interrupted."), ended.stdout
    assert "KeyboardInterrupt" not in ended.stdout
