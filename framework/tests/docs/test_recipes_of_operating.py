"""The commands of the recipes for operating work, one after the other, as a user types them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from example.generated import ROOT
from support.commands import MILLSTREAM, succeed

pytestmark = pytest.mark.long

COMMANDS = re.findall(
    r"^```sh run\n(.*?)^```$", (ROOT / "docs/recipes.md").read_text(), re.DOTALL | re.MULTILINE
)
GIT = {f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def levels(root):
    done = subprocess.run(
        [*MILLSTREAM, "query", "--output", "json", "select level, first_ordered_at from customers"],
        cwd=root, capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = json.loads(done.stdout)["rows"]
    assert all(row["first_ordered_at"] for row in rows)
    return {row["level"] for row in rows}


def test_the_commands_work_one_after_the_other(tmp_path):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    try:
        done = subprocess.run(
            ["bash", "-exc", "".join(COMMANDS)], cwd=tmp_path, env=os.environ | GIT | {"PATH": path},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        # Customers have about 167 orders each: with 170 instead of 50, some are no friends any more.
        anna, production = re.findall(r"^level +customers\n.*\n((?:\w+ +\d+\n)+)", done.stdout, re.MULTILINE)
        assert "regular" in anna
        assert "regular" not in production
        assert "first_ordered_at" in done.stdout
        assert levels(tmp_path / "cafe") == {"friend", "regular"}
    finally:
        succeed(tmp_path / "cafe", "clean", "--yes")
