"""The seconds that a command quotes are those that a user waits."""

import re
import subprocess
import time

import pytest
from support.commands import MILLSTREAM, succeed

pytestmark = pytest.mark.long

BESIDES, SHARE = 5, 1.15
"""Seconds for Python to start and to end, at most, and what it takes more on a busy machine."""


@pytest.fixture
def cafe(tmp_path):
    succeed(tmp_path, "init", "cafe", "--template", "minimal", "--no-git")
    root = tmp_path / "cafe"
    yield root
    succeed(root, "clean", "--yes")


def quoted_and_waited(root, *arguments):
    """Return the seconds of the last line, and those until the process has ended."""
    began = time.monotonic()
    done = subprocess.run(
        [*MILLSTREAM, *arguments], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )  # fmt: skip
    waited = time.monotonic() - began
    assert done.returncode == 0, done.stdout
    last = done.stdout.rstrip().splitlines()[-1]
    return float(re.search(r"([\d.]+) s\b", last)[1]), waited


@pytest.mark.parametrize("command", ["build", "test", "test --unit"])
def test_a_command_quotes_the_time_that_a_user_waits(cafe, command):
    quoted, waited = quoted_and_waited(cafe, *command.split())
    assert quoted <= waited < quoted * SHARE + BESIDES
