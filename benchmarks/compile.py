"""Compiling generated projects, against the bare floor of Jinja and sqlglot (see floor.py).

    uv run python benchmarks/compile.py [--models 100 1000 5000] [--rounds 3]

Each row is the median over the rounds; the floor and Millstream run in turn in each round, as whole processes, so
that the ratios hold on a noisy machine. CPU seconds are the operating system's, of the process and its children.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from generate import generate

HERE = Path(__file__).parent


def run(command: list[str], folder: Path) -> tuple[float, float, float]:
    """Run a command; return CPU seconds, wall seconds and peak memory in MB."""
    start = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command} failed with exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start, usage.ru_maxrss / 1024


def touch(folder: Path, number: int) -> None:
    """Change one model in the middle of the project, so that its columns stay and its text does not."""
    models = sorted((folder / "models").rglob("*.sql"))
    path = models[len(models) // 2]
    path.write_text(path.read_text() + f"-- change {number}\n")


def measure(models: int, rounds: int) -> dict[str, list[tuple[float, float, float]]]:
    figures: dict[str, list[tuple[float, float, float]]] = {}
    millstream = [sys.executable, "-m", "millstream", "compile", "--quiet"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        generate(folder, models, seed=1)
        run(millstream, folder)
        for number in range(rounds):
            figures.setdefault("floor", []).append(run([sys.executable, str(HERE / "floor.py"), "."], folder))
            figures.setdefault("cold", []).append(run([*millstream, "--no-cache"], folder))
            run(millstream, folder)
            figures.setdefault("unchanged", []).append(run(millstream, folder))
            touch(folder, number)
            figures.setdefault("one changed", []).append(run(millstream, folder))
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, nargs="+", default=[100, 1000, 5000])
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(f"{'models':>7} {'':12} {'CPU s':>8} {'× floor':>8} {'wall s':>8} {'× floor':>8} {'peak MB':>8}")
    for models in arguments.models:
        figures = measure(models, arguments.rounds)
        floors = figures["floor"]
        for name, runs in figures.items():
            cpu, wall, memory = (statistics.median(run[i] for run in runs) for i in range(3))
            ratios = [
                statistics.median(run[i] / floor[i] for run, floor in zip(runs, floors, strict=True))
                for i in (0, 1)
            ]
            print(
                f"{models:>7} {name:12} {cpu:8.2f} {ratios[0]:8.2f} {wall:8.2f} {ratios[1]:8.2f} {memory:8.0f}"
            )


if __name__ == "__main__":
    main()
