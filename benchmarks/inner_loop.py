"""How long an analyst waits after an edit: `uv run python benchmarks/inner_loop.py`.

Each edit changes what a model or a test means, and is followed by the command that shows its result, in the warm
session of the project, and with a Spark of its own (cold). CPU is that of the command, the session and its JVM.
"""

from __future__ import annotations

import argparse
import json
import os
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

ROOT = Path(__file__).parents[1]
TICKS = os.sysconf("SC_CLK_TCK")


class Edit(NamedTuple):
    name: str
    file: str
    change: Callable[[str, int], str]
    """Returns the text of the file for a round."""
    command: tuple[str, ...]


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
    Edit("any model, compile", "models/marts/engagement/hourly_user_activity.sql", commented, ("compile",)),
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
        file.write_text(edit.change(text, number), encoding="utf-8")
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
    for name in ("pyproject.toml", "profiles.yml"):
        shutil.copy(ROOT / name, folder / name)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--cold-rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="a part of an edit's name")
    options = parser.parse_args()
    environment = {k: v for k, v in os.environ.items() if k not in {"CI", "MILLSTREAM_NO_SESSION"}}
    with tempfile.TemporaryDirectory() as folder:
        root = copy_example(Path(folder))
        warm = Session(root, environment)
        cold = Session(root, environment | {"MILLSTREAM_NO_SESSION": "1"})
        try:
            assert warm.run("build").returncode == 0
            print(f"{'edit and command':<36}{'wall':>8}{'CPU':>8}{'cold':>8}")
            for edit in EXAMPLE:
                if options.only not in edit.name:
                    continue
                measure(warm, edit, 2)  # what the session has not done yet
                walls, cpus = measure(warm, edit, options.rounds)
                cold_walls, _ = measure(
                    cold, edit, options.cold_rounds
                )  # without its JVM's CPU: nobody waits for it
                figures = (walls, cpus, cold_walls)
                print(
                    f"{edit.name:<36}" + "".join(f"{statistics.median(f):>8.2f}" for f in figures), flush=True
                )
        finally:
            warm.run("session", "stop")


if __name__ == "__main__":
    main()
