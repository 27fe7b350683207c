"""Which records are bad for a model depends on the columns that it reads, and on nothing else.

Random projects over records with wrong values in random columns: each model has the rows that it has in a project of
its own, and those that plain Python counts, in all ways to optimize, group and cut. `MILLSTREAM_WRONG_VALUES` sets how
many projects run.
"""

import io
import json
import os
import tempfile
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from random import Random
from typing import NamedTuple

import fastavro
import pytest
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project
from millstream.project.load import load_project
from millstream.queries.topology import compiled_topology, physical_of
from streaming.query_runner import Corner, Record

pytestmark = SPARK_WARNINGS
LONG = int(os.environ.get("MILLSTREAM_WRONG_VALUES", "12"))
FIRST = int(os.environ.get("MILLSTREAM_WRONG_VALUES_FIRST", "0"))

COLUMNS = {"id": "int", "k": "string", "a": "int", "b": "double", "ts": "bigint"}
AVRO = {
    "type": "record",
    "name": "Event",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "k", "type": "string"},
        {"name": "a", "type": "int"},
        {"name": "b", "type": "double"},
        {"name": "ts", "type": "long"},
    ],
}
CODEC = """
    import json
    from dataclasses import dataclass

    @dataclass
    class Event:
        id: int
        k: str
        a: int
        b: float
        ts: int

    def decode_event(value: bytes) -> Event:
        return Event(**json.loads(value))

    def twice(value: int) -> int:
        return 2 * value
"""
START = int(datetime(2024, 1, 1, tzinfo=timezone.utc).timestamp() * 1000)


class Event(NamedTuple):
    row: dict
    bad: frozenset
    """The columns whose values are wrong; `*` if it can't be decoded at all."""
    value: bytes


class ModelCase(NamedTuple):
    """A model: its SQL, the columns of the source that it reads, and how Python computes its rows."""

    sql: str
    reads: str = ""
    rows: object = None
    needs: tuple = ()
    """The models that it reads."""


def sink(select, extra=""):
    return f"{{{{ config(materialized='sink'{extra}) }}}} {select}"


def table(select, key="k"):
    return f"{{{{ config(materialized='table', unique_key='{key}', unbounded_state='accept') }}}} {select}"


SRC = "{{ source('web', 'events') }}"


def counted(measure):
    def rows(good):
        groups = {}
        for row in good:
            groups.setdefault(row["k"], []).append(row)
        return Counter(json.dumps({"k": k, "n": measure(group)}) for k, group in groups.items())

    return rows


def picked(pick, keep=lambda _: True):
    return lambda good: Counter(json.dumps(pick(row)) for row in good if keep(row))


MODELS = {
    "ids": ModelCase(sink(f"select id from {SRC}"), "id", picked(lambda r: {"id": r["id"]})),
    "nothing": ModelCase(sink(f"select 1 as one from {SRC}"), "", picked(lambda _: {"one": 1})),
    "filtered": ModelCase(
        sink(f"select id, a from {SRC} where k = 'long text'"), "id a k",
        picked(lambda r: {"id": r["id"], "a": r["a"]}, lambda r: r["k"] == "long text"),
    ),
    "everything": ModelCase(f"select *, a + 1 as more from {SRC}"),
    "of_view": ModelCase(sink("select id, b from {{ ref('everything') }}"), "id b", picked(lambda r: {"id": r["id"], "b": r["b"]}), ("everything",)),
    "more": ModelCase(sink("select id, more from {{ ref('everything') }}"), "id a", picked(lambda r: {"id": r["id"], "more": r["a"] + 1}), ("everything",)),
    "of_topic": ModelCase(sink("select id from {{ ref('filtered') }}"), "id a k", picked(lambda r: {"id": r["id"]}, lambda r: r["k"] == "long text"), ("filtered",)),
    "calls": ModelCase(sink(f"select id, twice(a) as x from {SRC}"), "id a", picked(lambda r: {"id": r["id"], "x": 2 * r["a"]})),
    "counts": ModelCase(table(f"select k, count(*) as n from {SRC} group by k"), "k", counted(len)),
    "sums": ModelCase(table(f"select k, sum(a) as n from {SRC} group by k"), "k a", counted(lambda group: sum(r["a"] for r in group))),
    "both": ModelCase(f"select k, count(*) as n, max(a) as a, sum(b) as b from {SRC} group by k"),
    "one_of_both": ModelCase(table("select k, n from {{ ref('both') }}"), "k a b", counted(len), ("both",)),
    "other_of_both": ModelCase(table("select k, a as n from {{ ref('both') }}"), "k a b", counted(lambda group: max(r["a"] for r in group)), ("both",)),
    "windows": ModelCase(sink(f"select k, window(at, '1 minute').start as s, count(*) as n from {SRC} group by k, window(at, '1 minute')", ", emit='on_close'"), "k ts"),
    "wide_windows": ModelCase(sink(f"select window(at, '1 minute').start as s, sum(a) as n from {SRC} group by window(at, '1 minute')", ", emit='on_close'"), "a ts"),
    "firsts": ModelCase(sink(f"select id, k, b, at from {SRC}", ", dedupe={'keys': ['k'], 'within': '2 minutes'}, unbounded_state='accept'"), "id b k ts"),
    "united": ModelCase(sink(f"select id, a from {SRC} union all select id, a from {{{{ ref('everything') }}}}"), "id a", picked(lambda r: {"id": r["id"], "a": r["a"]}), ("everything",)),
}  # fmt: skip
TWICE = {"united"}
WRONG = {"id": ["x"], "a": ["many", 1.5], "b": ["y"], "ts": ["soon"], "k": []}


def events(random, format_):
    """Return records, in the order of time but for some that are late."""
    sent, now = [], START
    for number in range(random.randint(25, 45)):
        now += random.randint(0, 25) * 1000
        row = {
            "id": number,
            "k": random.choice(["a", "b", "long text"]),
            "a": random.randrange(10),
            "b": random.choice([0.5, 1.5]),
            "ts": now - random.choice([0, 0, 0, 0, 5, 40, 400]) * 1000,
        }
        if random.random() < 0.07:
            sent.append(Event(row, frozenset("*"), f"none of it {number}".encode()))
            continue
        values, bad = dict(row), set()
        for name in COLUMNS:
            if random.random() < 0.08:
                if format_ == "avro" and name == "k":
                    bad.add("k")
                elif format_ != "avro" and WRONG[name]:
                    values[name] = random.choice(WRONG[name])
                    bad.add(name)
        sent.append(Event(row, frozenset(bad), written(values, bad, format_)))
    return sent


def written(values, bad, format_):
    match format_:
        case "csv":
            return ",".join(map(str, values.values())).encode()
        case "avro":
            out = io.BytesIO()
            schema = {
                **AVRO,
                "fields": [{**f, "type": "bytes"} if f["name"] == "k" else f for f in AVRO["fields"]],
            }
            k = b"\xff\xfe" if bad else values["k"].encode()
            fastavro.schemaless_writer(out, fastavro.parse_schema(schema), values | {"k": k})
            return out.getvalue()
        case _:
            return json.dumps(values).encode()


def project(folder, models, format_, policy):
    columns = (
        ""
        if format_ == "python:decode_event"
        else ", ".join(f"{{name: {n}, type: {t}}}" for n, t in COLUMNS.items() if format_ != "avro")
    )
    columns = ", ".join(filter(None, (columns, '{name: at, type: timestamp, from: "timestamp_millis(ts)"}')))
    schema = ", schema: schemas/event.avsc" if format_ == "avro" else ""
    texts = {
        "pyproject.toml": '[project]\nname = "shop"\n[tool.millstream]\nname = "shop"\n',
        "profiles.yml": "shop:\n  target: all_all\n  outputs:\n" + "".join(
            f'    {o}_{g}: {{master: "local[2]", kafka: embedded, optimization: {o}, grouping: {g}}}\n'
            for o in ("all", "none") for g in ("all", "off")
        ),
        "schemas/event.avsc": json.dumps(AVRO),
        "macros/codec.py": "\n".join(line.removeprefix("    ") for line in CODEC.split("\n")),
        "models/sources.yml": (
            f"sources: [{{name: web, topics: [{{name: events, format: '{format_}'{schema}, on_bad_record: {policy}, "
            f"watermark: {{column: at, delay: 30 seconds}}, columns: [{columns}]}}]}}]\n"
        ),
        **{f"models/{name}.sql": MODELS[name].sql for name in models},
    }  # fmt: skip
    for name, text in texts.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def closed(names):
    """Return models with those that they read."""
    return sorted({model for name in names for model in (name, *MODELS[name].needs)})


def rows_of(runner, sent, names, format_, policy, way):
    """Run a project; return the rows of each stored model, its dead letters, and the skipped records of each query."""
    with tempfile.TemporaryDirectory() as root:
        folder = project(Path(root), names, format_, policy)
        compiled = compile_project(folder, target=way.target, use_cache=False)
        assert [d for d in compiled.diagnostics if d.severity == "error"] == []
        topology = compiled_topology(compiled)
        queries = physical_of(topology).queries
        records = {"events": [Record(None, event.value) for event in sent]}
        result = runner.run(
            load_project(folder, way.target, None, None), topology.catalog, queries, records, way
        )
    rows = {}
    for name in names:
        if f"model.{name}" in result.tables:
            rows[name] = Counter(
                json.dumps(row, default=str) for row in result.tables[f"model.{name}"].rows.values()
            )
        elif name in result.topics:
            rows[name] = Counter(
                json.dumps(json.loads(r.value)) for batch in result.topics[name] for r in batch
            )
    letters = [r for batch in result.topics.get("events.dead_letter", []) for r in batch]
    return rows, letters


def check(runner, seed):
    random = Random(f"wrong {seed}")
    format_ = random.choice(["json", "json", "csv", "avro", "python:decode_event"])
    policy = random.choice(["skip", "dead_letter", "dead_letter", "fail"])
    names = closed(random.sample(list(MODELS), random.randint(3, 7)))
    sent = events(random, format_)
    stored = [name for name in names if MODELS[name].reads or MODELS[name].rows]
    if policy == "fail":
        # What no model reads may be wrong.
        read = {column for name in stored for column in MODELS[name].reads.split()}
        sent = [event for event in sent if "*" not in event.bad and not event.bad & read]
    borders = tuple(sorted(random.random() for _ in range(random.randint(0, 3))))
    # Keys expire with batches, also with those without records at the end of a run.
    again = random.random() < 0.5
    ways = [Corner(1, restart=again, optimization=o, grouping=g, seed=seed, borders=borders or (1.0,))
            for o, g in (("all", "all"), random.choice([("none", "all"), ("none", "off"), ("all", "off")]))]  # fmt: skip
    seen = [rows_of(runner, sent, names, format_, policy, way) for way in ways]
    for name in random.sample(stored, min(len(stored), 3)):
        alone, _ = rows_of(runner, sent, closed([name]), format_, policy, random.choice(ways))
        for way, (rows, _) in zip(ways, seen, strict=True):
            assert rows[name] == alone[name], (seed, format_, policy, way, name, names)
    for name in stored:
        reads = frozenset(MODELS[name].reads.split())
        good = [event.row for event in sent if "*" not in event.bad and not event.bad & reads]
        if MODELS[name].rows:
            expected = MODELS[name].rows(good * (2 if name in TWICE else 1))
            for way, (rows, _) in zip(ways, seen, strict=True):
                assert rows[name] == expected, (seed, format_, policy, way, name, names)
    if policy == "dead_letter":
        read = {"*"}.union(*(MODELS[name].reads.split() for name in stored))
        expected = Counter(event.value for event in sent if event.bad & read)
        for way, (_, letters) in zip(ways, seen, strict=True):
            assert Counter(letter.value for letter in letters) == expected, (seed, format_, way, names)
            for letter in letters:
                check_reason(dict(letter.headers), {e.value: e.bad for e in sent}[letter.value], read)
    return sum(bool(event.bad) for event in sent)


def check_reason(headers, bad, read):
    columns = set(headers["millstream.columns"].decode().split(","))
    if "*" in bad:
        assert columns == {"*"}
    else:
        assert bad & read <= columns <= bad
        assert any(headers["millstream.reason"].decode().startswith(f"field {name}: ") for name in bad & read)


@pytest.mark.long
def test_projects(query_runner):
    assert sum(check(query_runner, seed) for seed in range(100 + FIRST, 100 + FIRST + LONG)) > LONG
