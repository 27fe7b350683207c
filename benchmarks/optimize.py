"""Measure the plan of generated projects: `python benchmarks/optimize.py --models 1000 5000`.

CPU seconds of one process: reading what the compiler kept, building the plan, optimizing it, and grouping it into
queries.
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
from millstream.topology import compiled_topology, physical_of, read_catalog, written_plan

T = TypeVar("T")


def timed(name: str, run: Callable[[], T]) -> T:
    gc.collect()
    start = time.process_time()
    found = run()
    print(f"  {name:9} {time.process_time() - start:6.2f} s", flush=True)
    return found


def measure(models: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), models)
        compiled = compile_project(Path(folder))
    print(f"{models:,} models")
    catalog = timed("read", lambda: read_catalog(compiled))
    plan = timed("build", lambda: written_plan(catalog))
    topology = timed("all", lambda: compiled_topology(compiled))
    queries = timed("queries", lambda: physical_of(topology)).queries
    steps = topology.optimized.steps
    print(
        f"  {len(plan.order):,} → {len(topology.plan.order):,} nodes, {len(steps)} steps, {len(queries):,} queries"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, nargs="+", default=[1000])
    for count in parser.parse_args().models:
        measure(count)
