"""The benchmarks' generated projects, with records in all of their topics."""

from __future__ import annotations

import json
import runpy
from collections import Counter
from pathlib import Path
from random import Random

from support.broker import lend
from support.runs import built, create_topics, received, send, table_rows

from millstream.project.load import load_project

SCRIPT = runpy.run_path(str(Path(__file__).resolve().parents[3] / "benchmarks" / "generate.py"))

PROFILES = """
generated:
  target: all
  outputs:
    all: {master: "local[2]", kafka: embedded, optimization: all}
    none: {master: "local[2]", kafka: embedded, optimization: none, grouping: 'off', fast_paths: 'off'}
"""
USERS, RECORDS = 6, 12
"""Users in all topics, and records of each topic."""


def write(root: Path, models: int, seed: int) -> None:
    """Write a project; its data tests warn, since random labels fail them."""
    SCRIPT["generate"](root, models, seed, warn=True)
    (root / "profiles.yml").write_text(PROFILES)


Records = dict[str, list[tuple[str, object]]]


def records(root: Path, seed: int) -> Records:
    """Return records of each topic of a project, with their keys."""
    random = Random(f"records {seed}")
    values = {
        topic.topics[0]: [
            SCRIPT["record"](random, [column.name for column in topic.columns], USERS) for _ in range(RECORDS)
        ]
        for topic in load_project(root, None, None, None).sources.values()
    }
    return {topic: [(value[SCRIPT["KEY"]], value) for value in rows] for topic, rows in values.items()}


Rows = dict[str, Counter[str]]


def rows_of_build(
    server, root: Path, spark, target: str, inputs: Records, **options: object
) -> tuple[Rows, list[str]]:
    """Build a project over records; return the rows of its tables and sinks, and what failed."""
    bootstrap = lend(server, root)
    create_topics(bootstrap, *inputs, partitions=2)
    send(bootstrap, inputs)
    results, events = built(root, spark, target=target, **options)
    failed = [
        f"{event.result.query}: {event.result.diagnostic.code} {event.result.diagnostic.message}"
        for event in events
        if getattr(event, "result", None) and event.result.diagnostic
    ]
    failed += [f"{node.id}: {node.status}" for node in results.results if node.status != "success"]
    stored = {node.id.partition(".")[2] for node in results.results if node.status == "success"}
    rows: Rows = {}
    for path in sorted(root.glob("models/*/*.sql")):
        if path.stem not in stored:
            continue
        if "'sink'" in path.read_text():
            values = (json.loads(m.value()) for m in received(bootstrap, path.stem) if m.value())
        elif "'table'" in path.read_text():
            values = iter(table_rows(root, f"model.{path.stem}", target))
        else:
            continue
        rows[path.stem] = Counter(map(_text, values))
    return rows, failed


def _text(row: dict[str, object]) -> str:
    """Return a row as text, with the digits of doubles that don't depend on the order of sums."""
    shown = {name: f"{v:.9g}" if isinstance(v, float) else str(v) for name, v in row.items() if v is not None}
    return json.dumps(shown, sort_keys=True)


def differences(one: Rows, other: Rows) -> list[str]:
    return [
        f"{name}: only one {list((one[name] - other[name]).items())[:2]}, "
        f"only the other {list((other[name] - one[name]).items())[:2]}"
        for name in one
        if one[name] != other[name]
    ]
