"""What Python functions cost natively, and in Python over Arrow: `uv run python benchmarks/functions.py`.

The example's functions, and some of other kinds, are called for each of a million rows in one warm JVM, in turns; the
results of both are compared first. A row has the CPU seconds of the JVM and of Python's workers for a million calls,
without those that their arguments take: medians, and in brackets the least and the most.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from build import cpu
from msgspec.structs import replace
from projects.folder import SCORES, write_project

from millstream.compile.native_functions import find_obstacles
from millstream.engine.python.functions import register_functions
from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.session import start_spark
from millstream.project.load import load_project
from millstream.project.values import Project, Target

ROWS = """
    select
      id as number,
      element_at(array('view', 'click', 'purchase', 'search'), cast(id % 4 + 1 as int)) as event_type,
      element_at(array('electronics', 'books', 'toys'), cast(id % 3 + 1 as int)) as category,
      element_at(array('high', 'low', null), cast(id % 3 + 1 as int)) as priority,
      id * 37 % 10000 / 100D as value,
      concat('https://shop.example/item?page=', id % 1000, '&from=mail') as url,
      transform(sequence(1, cast(id % 5 + 1 as int)), x -> x * 1.5D) as prices
    from range({rows})
"""
OTHERS = """
def is_large(value: float) -> bool:
    return value > 42.0 and value == value


def page(url: str) -> str:
    if "?page=" not in url:
        return "no page"
    parts = url.lower().split("?page=")
    return f"page {parts[1][:3].strip('&')} of {parts[0].replace('https://', '')}"


def discounted(prices: list[float]) -> float:
    return round(sum([price * 0.9 for price in prices if price > 2]), 2)
"""
ARGUMENTS = {
    "calculate_score": "event_type, category, value",
    "calculate_complex_score": "event_type, priority, cast(number as int)",
    "is_large": "value",
    "page": "url",
    "discounted": "prices",
}
WAYS = ("no call", "native", "python")


def project_with(folder: Path) -> Project:
    files = {
        "pyproject.toml": '[tool.millstream]\nname = "benchmark"',
        "macros/others.py": OTHERS,
        "macros/scores.py": SCORES.read_text(),
    }
    write_project(folder, files)
    return load_project(folder, None, None, None)


def session_with(spark: Any, project: Project, runs: str) -> Any:
    functions = {name: replace(function, runs=runs) for name, function in project.functions.items()}
    session = spark.newSession()
    register_functions(session, replace(project, functions=functions), ARGUMENTS)
    return session


def seconds(session: Any, call: str, rows: str) -> float:
    before = cpu()
    session.sql(f"select {call} as result from ({rows})").write.format("noop").mode("overwrite").save()
    return cpu() - before


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    rows = ROWS.format(rows=options.rows)
    target = Target("benchmark", "local", {"master": "local[1]"})
    with tempfile.TemporaryDirectory(prefix="millstream-") as temporary:
        folder = Path(temporary)
        spark = start_spark("benchmark", target, jars_for(target), folder / "log", amount="endless")
        project = project_with(folder / "project")
        native, python = (session_with(spark, project, runs) for runs in ("native", "python"))
        given_to = {name: (function.path, "auto") for name, function in project.functions.items()}
        if in_python := find_obstacles(Path(project.root), given_to):
            sys.exit(f"not native: {in_python}")
        calls = {name: f"{name}({arguments})" for name, arguments in ARGUMENTS.items()}
        for call in calls.values():
            few = f"select {call} as result from ({ROWS.format(rows=10_000)})"
            if native.sql(few).collect() != python.sql(few).collect():
                sys.exit(f"{call} has other results natively than in Python")
        print(
            f"{'CPU s per million calls':26}{'native':>24}{'Python over Arrow':>24}{'ratio':>8}", flush=True
        )
        for name, call in calls.items():
            expressions = {
                "no call": (native, f"struct({ARGUMENTS[name]})"),
                "native": (native, call),
                "python": (python, call),
            }
            figures: dict[str, list[float]] = {way: [] for way in WAYS}
            for turn in range(options.rounds + 1):
                for way in WAYS[turn % 3 :] + WAYS[: turn % 3]:
                    taken = seconds(*expressions[way], rows)
                    if turn:  # the first time is for the JVM to compile
                        figures[way].append(taken / options.rows * 1e6)
            print(f"{name:26}{cells_of(figures)}", flush=True)
        spark.stop()


def cells_of(figures: dict[str, list[float]]) -> str:
    floor = statistics.median(figures["no call"])
    cells, middles = "", []
    for way in WAYS[1:]:
        net = [figure - floor for figure in figures[way]]
        middles.append(statistics.median(net))
        cells += f"{f'{middles[-1]:.2f} ({min(net):.2f}-{max(net):.2f})':>24}"
    return f"{cells}{middles[0] / middles[1]:8.2f}"


if __name__ == "__main__":
    main()
