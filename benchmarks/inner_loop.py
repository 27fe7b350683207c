"""How long an analyst waits after an edit: `uv run python benchmarks/inner_loop.py`.

Each edit changes a file, and is followed by the command that shows its result, in the warm session of the
project, and with a Spark of its own (cold). CPU is that of the command, the session and its JVM. Between two
edits, there is a pause, in which the session prepares itself, as for somebody who reads a result.

`--project example` takes about ten minutes, `--project generated` (300 models) as long; `--rounds 3
--cold-rounds 0` a third.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from generate import generate

ROOT = Path(__file__).parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
PAUSE = 1.0
UNSET = {"CI", "MILLSTREAM_NO_SESSION", "PYTHONDONTWRITEBYTECODE"}
"""Without files of bytecode, each process would compile its modules again."""


class Edit(NamedTuple):
    name: str
    file: str
    change: Callable[[str, int], str]
    """Returns the text of the file for a round."""
    command: tuple[str, ...]
    before: tuple[str, ...] = ()
    """A command that is run before each edit, and is not measured."""


def commented(text: str, number: int) -> str:
    return text.rstrip() + f"\n-- edit {number}\n"


EXAMPLE = (
    Edit(
        "stateless model, its unit tests",
        "models/marts/engagement/categorized_app_events.sql",
        commented,
        ("test", "--unit", "--select", "categorized_app_events"),
    ),
    Edit(
        "stateful model, its unit tests",
        "models/marts/engagement/hourly_user_activity.sql",
        commented,
        ("test", "--unit", "--select", "hourly_user_activity"),
    ),
    Edit(
        "unit test, all of its model",
        "tests/engagement.yml",
        lambda text, number: text.rstrip() + f"\n# edit {number}\n",
        ("test", "--unit", "--select", "categorized_app_events"),
    ),
    Edit(
        "stateless model, build",
        "models/marts/engagement/categorized_app_events.sql",
        commented,
        ("build", "--no-tests", "--select", "categorized_app_events"),
    ),
    Edit(
        "stateless model, build of 10,000 records",
        "models/marts/engagement/categorized_app_events.sql",
        commented,
        ("build", "--no-tests", "--select", "categorized_app_events"),
        before=("produce", "app_events", "--count", "10000"),
    ),
    Edit(
        "stateless model, show",
        "models/marts/engagement/categorized_app_events.sql",
        commented,
        ("show", "categorized_app_events"),
    ),
    Edit("any model, compile", "models/marts/engagement/hourly_user_activity.sql", commented, ("compile",)),
)

SCALED = "macros/scaled.sql"
SCALED_MODELS = 10


def scaled(_: str, number: int) -> str:
    return "{% macro scaled(column) %}" + f"{{{{ column }}}} * {number + 2}" + "{% endmacro %}\n"


GENERATED = (
    Edit(
        "stateless model, its unit test",
        "models/scaled/scaled_0.sql",
        commented,
        ("test", "--unit", "--select", "scaled_0"),
    ),
    Edit(
        "macro of ten models, one unit test",
        "macros/scaled.sql",
        scaled,
        ("test", "--unit", "--select", "scaled_1"),
    ),
    Edit("macro of ten models, compile", SCALED, scaled, ("compile",)),
    Edit("macro of ten models, what changed", SCALED, scaled, ("ls", "--select", "path:models/scaled")),
)


class Session:
    """The session of a project, as far as its CPU is concerned."""

    def __init__(self, root: Path, environment: dict[str, str]) -> None:
        self.root, self.environment = root, environment

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "millstream", *arguments]
        return subprocess.run(
            command, cwd=self.root, env=self.environment, capture_output=True, text=True, check=False
        )

    def seconds(self) -> float:
        """Return the CPU that the session, its commands and its JVM have taken."""
        status = json.loads(self.run("session", "status", "--output", "json").stdout)["session"]
        if status is None:
            return 0.0
        total = sum(self._times(status["process"], 4))
        return total + (sum(self._times(status["jvm"]["process"], 2)) if status["jvm"] else 0.0)

    @staticmethod
    def _times(process: int, count: int) -> list[float]:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
        return [int(value) / TICKS for value in fields[11 : 11 + count]]


def measure(session: Session, edit: Edit, rounds: int) -> tuple[list[float], list[float]]:
    """Return the wall and CPU seconds of the command after each edit."""
    file = session.root / edit.file
    text = file.read_text(encoding="utf-8")
    walls, cpus = [], []
    for number in range(rounds):
        if edit.before:
            assert session.run(*edit.before).returncode == 0
        file.write_text(edit.change(text, number), encoding="utf-8")
        time.sleep(PAUSE)
        before, children = session.seconds(), resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        result = session.run(*edit.command)
        walls.append(time.perf_counter() - started)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert result.returncode == 0, result.stdout + result.stderr
        command = after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime
        cpus.append(command + session.seconds() - before)
    file.write_text(text, encoding="utf-8")
    return walls, cpus


def copy_example(folder: Path) -> Path:
    for name in ("models", "macros", "seeds", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "profiles.yml", folder)
    # The rest, such as pytest's plugins, is that of this repository and not of the example.
    sections = re.split(r"(?m)^(?=\[)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    settings = "".join(section for section in sections if section.startswith("[tool.millstream"))
    (folder / "pyproject.toml").write_text(settings, encoding="utf-8")
    return folder


def generate_project(folder: Path) -> Path:
    """Write 300 models, and ten more that call a macro, with a unit test each."""
    generate(folder, 300 - SCALED_MODELS)
    (folder / SCALED).write_text(scaled("", -1), encoding="utf-8")
    (folder / "models/scaled").mkdir()
    for number in range(SCALED_MODELS):
        sql = "select user_id, {{ scaled('length(user_id)') }} as size from {{ source('app', 'topic_00') }}\n"
        (folder / f"models/scaled/scaled_{number}.sql").write_text(sql, encoding="utf-8")
    tests = [
        f"  - name: length_{number}\n    model: scaled_{number}\n"
        "    given: [{input: \"source('app', 'topic_00')\", rows: [{user_id: ab}]}]\n"
        "    expect: [{user_id: ab}]\n"
        for number in range(SCALED_MODELS)
    ]
    (folder / "models/scaled/scaled.yml").write_text("unit_tests:\n" + "".join(tests), encoding="utf-8")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--project", choices=("example", "generated"), default="example")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--cold-rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="a part of an edit's name")
    options = parser.parse_args()
    environment = {k: v for k, v in os.environ.items() if k not in UNSET}
    with tempfile.TemporaryDirectory() as folder:
        example = options.project == "example"
        root = (copy_example if example else generate_project)(Path(folder))
        warm = Session(root, environment)
        cold = Session(root, environment | {"MILLSTREAM_NO_SESSION": "1"})
        try:
            assert warm.run(*(("build",) if example else ("test", "--unit"))).returncode == 0
            print(f"{'edit and command':<42}{'wall':>8}{'CPU':>8}{'cold':>8}")
            for edit in EXAMPLE if example else GENERATED:
                if options.only in edit.name:
                    show_figures(edit, warm, cold, options.rounds, options.cold_rounds)
        finally:
            warm.run("session", "stop")
            warm.run("broker", "stop")


def show_figures(edit: Edit, warm: Session, cold: Session, rounds: int, cold_rounds: int) -> None:
    measure(warm, edit, 2)  # what the session has not done yet
    walls, cpus = measure(warm, edit, rounds)
    # Without the CPU of its JVM, which goes on when nobody waits for it any more.
    cold_walls = measure(cold, edit, cold_rounds)[0] if cold_rounds else [math.nan]
    figures = (walls, cpus, cold_walls)
    print(f"{edit.name:<42}" + "".join(f"{statistics.median(f):>8.2f}" for f in figures), flush=True)


if __name__ == "__main__":
    main()
