"""Measure the plan of generated projects: `python benchmarks/optimize.py --models 1000 5000`.

CPU seconds of one process: reading what the compiler kept, building the plan, optimizing it, and making queries
of it. Python's search for cycles is paused, as it is in commands.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from generate import generate

from millstream.compile import compile_project
from millstream.core.gc_pause import collector_paused
from millstream.plan.optimizer.driver import optimize_plan
from millstream.plan.optimizer.rule_selection import select_rules
from millstream.queries.topology import Topology, hints_of, physical_of, read_catalog, written_plan

T = TypeVar("T")


def timed(name: str, run: Callable[[], T]) -> T:
    gc.collect()
    with collector_paused():
        start = time.process_time()
        result = run()
        print(f"  {name:9} {time.process_time() - start:6.2f} s", flush=True)
    return result


def measure(models: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), models)
        compiled = compile_project(Path(folder))
    print(f"{models:,} models")
    catalog = timed("read", lambda: read_catalog(compiled))
    plan = timed("build", lambda: written_plan(catalog))
    optimized = timed("optimize", lambda: optimize_plan(plan, select_rules("all"), hints_of(catalog)))
    queries = timed("queries", lambda: physical_of(Topology(catalog, optimized))).queries
    nodes = f"{len(plan.order):,} → {len(optimized.plan.order):,} nodes"
    print(f"  {nodes}, {len(optimized.steps)} steps, {len(queries):,} queries")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, nargs="+", default=[1000])
    for count in parser.parse_args().models:
        measure(count)
