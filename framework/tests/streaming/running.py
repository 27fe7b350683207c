"""One project through some corners: compiled, run, compared with what the oracle expects."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from millstream.compile import compile_project
from millstream.project.load import load_project
from millstream.queries.topology import compiled_topology, physical_of
from streaming.clocks import UnknownMeaningError
from streaming.oracle import Expected, Oracle, Rows, expected
from streaming.query_runner import Corner, QueryRunner, Record, RunResult
from streaming.records import micros
from streaming.shapes import Model, Project
from streaming.texts import write

Records = dict[str, list[Record]]
CORNERS = [("all", "all"), ("none", "off"), ("all", "off"), ("none", "all")]


@dataclass
class Report:
    """What came of one project."""

    refused: tuple[str, ...] = ()
    """Codes."""
    differences: list[str] = field(default_factory=list)
    queries: int = 0
    micro_batches: int = 0


def corners(seed: int, count: int = 2) -> list[Corner]:
    """Return random ways to run a project; the first two differ in optimization."""
    random = Random(f"corners {seed}")
    ways = [
        random.choice([("all", "all"), ("all", "off")]),
        random.choice([("none", "off"), ("none", "all")]),
    ]
    ways += [random.choice(CORNERS) for _ in range(count - 2)]
    random.shuffle(ways)
    return [
        Corner(random.choice([1, 2, 3, 5]), random.random() < 0.5, *way, seed=random.randrange(10**6))
        for way in ways
    ]


def check(
    runner: QueryRunner,
    project: Project,
    records: Records,
    ways: list[Corner],
    oracle_records: Records | None = None,
) -> Report:
    """Run a project in some corners and compare; the oracle is told other rows where `told` says so."""
    report = Report()
    with tempfile.TemporaryDirectory() as name:
        folder = write(Path(name), project)
        codes: dict[str, tuple[str, ...]] = {}
        for way in dict.fromkeys(way.target for way in ways):
            compiled = compile_project(folder, target=way, use_cache=False)
            codes[way] = tuple(sorted({d.code for d in compiled.diagnostics if d.severity == "error"}))
        if len(set(codes.values())) > 1:
            report.differences.append(f"compile says different things: {codes}")
            return report
        report.refused = codes[ways[0].target]
        if report.refused:
            return report
        for way in ways:
            message = _corner(runner, folder, project, records, oracle_records or records, way, report)
            if message:
                report.differences.append(f"{way}\n{message}")
    return report


def _corner(runner, folder, project, records, oracle_records, way: Corner, report: Report) -> str:
    compiled = compile_project(folder, target=way.target, use_cache=False)
    topology = compiled_topology(compiled)
    loaded = load_project(folder, way.target, None, None)
    physical = physical_of(topology)
    try:
        result = runner.run(loaded, topology.catalog, physical.queries, records, way)
    except Exception as error:  # noqa: BLE001 - whatever Spark refuses is a difference
        return f"refused at run time: {type(error).__name__}: {str(error)[:1500]}"
    report.queries += len(physical.queries)
    report.micro_batches += result.micro_batches
    makers = {model.id: maker for model in project.models if (maker := result.maker(model.id))}
    try:
        oracle = Oracle(project, oracle_records)
        expected_rows = expected(oracle, result.arrived, makers)
    except UnknownMeaningError as error:
        return str(error)
    return "\n".join(differences(project, oracle, expected_rows, result, records))


def differences(
    project: Project, oracle: Oracle, expected_rows: Expected, result: RunResult, records
) -> list[str]:
    message = []
    for model in project.models:
        if model.kind == "view":
            continue
        rows = expected_rows.stored[model.name]
        expect = _texts(oracle.rows(rows), rows)
        if model.kind == "table":
            stored = _texts([_plain(row, rows) for row in result.tables[model.id].rows.values()], rows)
        elif rows.changing:
            stored = _texts(_newest(result, model, rows), rows)
        else:
            stored = _texts(
                [_decoded(record, rows) for batch in result.topics[model.name] for record in batch], rows
            )
        if expect != stored:
            message.append(
                f"{model.kind} {model.name}: missing {_few(expect - stored)}, extra {_few(stored - expect)}"
            )
    return message + _letters(project, oracle, expected_rows, result, records)


def _few(rows: Counter[str]) -> str:
    return f"{rows.total()}: {dict(list(rows.items())[:4])}" if rows else "none"


def _letters(
    project: Project, oracle: Oracle, expected_rows: Expected, result: RunResult, records
) -> list[str]:
    message = []
    read = {source.relation for query in result.queries.values() for source in query.sources}
    for source in project.sources:
        if source.id not in read:
            continue
        bad = Counter(r.value.decode() for r in records[source.name] if r.key == b"bad" and r.value)
        topic = f"{source.name}.dead_letter"
        letters = Counter(
            r.value.decode() for batch in result.topics.get(topic, []) for r in batch
            if r.value and "not JSON: " in dict(r.headers)["millstream.reason"].decode()
        )  # fmt: skip
        if bad != letters:
            message.append(
                f"dead letters of {source.name}: missing {_few(bad - letters)}, extra {_few(letters - bad)}"
            )
    for name, rows in expected_rows.refused.items():
        expect = _texts(oracle.rows(rows), rows)
        letters = _texts(
            [_decoded(r, rows) for batch in result.topics.get(f"{name}.dead_letter", []) for r in batch],
            rows,
        )
        if expect != letters:
            message.append(
                f"dead letters of {name}: missing {_few(expect - letters)}, extra {_few(letters - expect)}"
            )
    return message


def _texts(rows: list[dict[str, Any]], of: Rows) -> Counter[str]:
    """Return rows as texts, by how often each is there; a window is its start."""
    return Counter(json.dumps({name: row.get(name) for name in of.columns}, sort_keys=True) for row in rows)


def _decoded(record: Record, of: Rows) -> dict[str, Any]:
    message = json.loads(record.value)
    return {name: _value(message.get(name), kind) for name, kind in of.columns.items()}


def _plain(row: dict[str, Any], of: Rows) -> dict[str, Any]:
    return {name: _value(row[name], kind) for name, kind in of.columns.items()}


def _value(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "w":
        value = value["start"]
    if kind in "tw":
        return micros(value if isinstance(value, str) else value.isoformat())
    return value


def _newest(result: RunResult, model: Model, of: Rows) -> list[dict[str, Any]]:
    """Return what is left of a topic when only the newest record of each key is."""
    newest: dict[bytes | None, Record] = {}
    for batch in result.topics[model.name]:
        for record in batch:
            newest.pop(record.key, None)
            if record.value is not None:
                newest[record.key] = record
    return [_decoded(record, of) for record in newest.values()]
