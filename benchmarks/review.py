"""Reviews of a generated project: `uv run python benchmarks/review.py [--models 1000] [--edits 20] [--rounds 3]`.

A git repository holds the project on `main`; the working tree has some models edited: comments, filters, columns,
aggregates, in turn, spread over all layers. Reviews against `main`, as whole processes; medians over the rounds:

    cold          without any cache: both versions are compiled and planned
    main known    caches hold `main` and its review against itself, as a cache folder from CI's main branch does
    with caches   both versions were reviewed, then the condition of one model more is edited: the next review
                  while somebody works, or the next push of a branch whose cache folder was kept
    once more     nothing was edited since: the review itself was kept

The edit of `with caches` is of another layer each round, since an upper one reaches more queries.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from compile import run
from generate import generate

REVIEW = [sys.executable, "-m", "millstream", "review", "--against", "main", "--output", "markdown"]


class Edit(NamedTuple):
    kinds: tuple[str, ...]
    """Of models, by how their names begin."""
    pattern: str
    instead: str


EDITS = (
    Edit(("projection", "aggregate", "join"), r"\Z", "-- a comment\n"),
    Edit(("projection",), r"\nwhere (.*)\n", r"\nwhere (\1) and user_id <> 'nobody'\n"),
    Edit(("projection", "join"), r"\n  (.+) as (label_\d)", r"\n  lower(\1) as \2"),
    Edit(("projection", "join"), r"\nselect\n  ((?:l\.)?user_id),", r"\nselect\n  \1,\n  1 as version,"),
    Edit(("aggregate",), r"\n  (?:sum|min)\((.+)\) as (amount_\d)", r"\n  max(\1) as \2"),
)


def edit(folder: Path, count: int) -> int:
    """Edit models at equal distances from each other; return how many there are."""
    models = sorted((folder / "models").rglob("*.sql"), key=lambda path: path.stem.rpartition("_")[2])
    edits, done, index = list(EDITS), 0, 0
    while done < count and index < len(models):
        text = models[index].read_text()
        for replacement in edits:
            edited = (
                re.sub(replacement.pattern, replacement.instead, text, count=1)
                if models[index].stem.startswith(replacement.kinds)
                else text
            )
            if edited != text:
                models[index].write_text(edited)
                edits.remove(replacement)
                edits.append(replacement)
                done += 1
                index = max(index, done * len(models) // count - 1)
                break
        index += 1
    return done


def edit_one_more(folder: Path, position: float) -> None:
    """Edit the condition of a model that is as it was committed, so far down among the models."""
    named = ["git", "status", "--porcelain", "--untracked-files=no"]
    status = subprocess.run(named, cwd=folder, check=True, capture_output=True, text=True).stdout
    edited = {line[3:] for line in status.splitlines()}
    models = sorted((folder / "models").rglob("projection_*.sql"), key=lambda path: path.stem)
    left = [path for path in models if path.relative_to(folder).as_posix() not in edited]
    path = left[int(len(left) * position)]
    text = re.sub(r"\nwhere (.*)\n", r"\nwhere (\1) and user_id <> 'somebody'\n", path.read_text(), count=1)
    path.write_text(text)


def git(folder: Path, *arguments: str) -> None:
    named = ["-c", "user.name=Benchmark", "-c", "user.email=benchmark@millstream.example"]
    subprocess.run(["git", *named, *arguments], cwd=folder, check=True, capture_output=True)


def measure(models: int, edits: int, rounds: int) -> dict[str, list[tuple[float, float, float]]]:
    figures: dict[str, list[tuple[float, float, float]]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        generate(folder, models)
        (folder / ".gitignore").write_text("target/\n")
        git(folder, "init", "-q", "-b", "main", ".")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "the project")
        for number in range(rounds):
            print(f"{edit(folder, edits)} models edited", file=sys.stderr)
            shutil.rmtree(folder / "target", ignore_errors=True)
            figures.setdefault("cold", []).append(run(REVIEW, folder))
            git(folder, "checkout", "-q", ".")
            shutil.rmtree(folder / "target")
            run(REVIEW, folder)
            edit(folder, edits)
            figures.setdefault("main known", []).append(run(REVIEW, folder))
            edit_one_more(folder, (number + 1) / (rounds + 1))
            figures.setdefault("with caches", []).append(run(REVIEW, folder))
            figures.setdefault("once more", []).append(run(REVIEW, folder))
            git(folder, "checkout", "-q", ".")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, nargs="+", default=[1000])
    parser.add_argument("--edits", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    # An installed Millstream has its bytecode: to compile 200 files is no part of a review.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    print(f"{'models':>7} {'':12} {'CPU s':>8} {'wall s':>8} {'peak MB':>8}")
    for models in arguments.models:
        for name, runs in measure(models, arguments.edits, arguments.rounds).items():
            cpu, wall, memory = (statistics.median(figures[i] for figures in runs) for i in range(3))
            print(f"{models:>7} {name:12} {cpu:8.2f} {wall:8.2f} {memory:8.0f}")


if __name__ == "__main__":
    main()
