"""The queries of a project on Spark Structured Streaming, without Kafka and Delta: topics and tables are lists.

Sessions, views, SQL, output modes, states and checkpoints are those of production; each micro-batch is a file.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from millstream.core.expressions import quote_name
from millstream.deploy.live.query_order import upstream_queries
from millstream.engine.python import functions
from millstream.engine.queries import counts as counting
from millstream.engine.queries.seeds import view_seed
from millstream.engine.queries.start import make_view
from millstream.engine.spark.settings import session_settings, store_settings
from millstream.queries.emit.steps import StatefulView
from millstream.queries.values import ChangesRead, Query, StreamRead, TableOutput
from millstream.runner.samples.trial import RECORDS, Stored, batch_outputs, table_to_frame

SHARED_MEMORY = Path("/dev/shm")
QUICK = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    # Compiling a query to bytecode would take far longer than running it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings of a session for many queries over few rows; none of them changes a row."""
_START = datetime(2024, 1, 1, tzinfo=timezone.utc)


class Record(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


class Corner(NamedTuple):
    """One way to run a project."""

    cut: int
    """Into about how many micro-batches what a query reads is cut."""
    restart: bool
    optimization: str
    grouping: str
    seed: int
    borders: tuple[float, ...] = ()
    """Where all queries cut what they read, as shares of it, instead of anywhere."""

    @property
    def target(self) -> str:
        return f"{self.optimization}_{self.grouping}"


@dataclass
class Arrived:
    """In which micro-batch of a query each part of what it reads was."""

    batches: int = 0
    parts: dict[str, list[int]] = field(default_factory=dict)
    """By relation: of each record of a source, of each batch of the query that writes a topic or table."""
    starts: list[int] = field(default_factory=list)
    """The first batch of each run, but for the first run."""


@dataclass
class RunResult:
    topics: dict[str, list[list[Record]]] = field(default_factory=dict)
    """What was sent to each topic, by batch of the query that writes it."""
    tables: dict[str, Table] = field(default_factory=dict)
    arrived: dict[str, Arrived] = field(default_factory=dict)
    """By query."""
    queries: dict[str, Query] = field(default_factory=dict)
    micro_batches: int = 0

    def maker(self, model: str) -> str | None:
        """Return the query that stores a model."""
        makers = (
            q.name for q in self.queries.values() if any(getattr(o, "model", "") == model for o in q.outputs)
        )
        return next(makers, None)


class Table:
    """The newest rows by key, and what each batch changed: what Delta's MERGE and change feed would hold."""

    def __init__(self, output: TableOutput) -> None:
        self.output = output
        self.rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.changes: list[list[dict[str, Any]]] = []

    def merge(self, rows: Sequence[dict[str, Any]]) -> None:
        order = self.output.options.get("order_by")
        changed = []
        for row in rows:
            deleted = bool(row.get("_deleted"))
            stored_row = {name: value for name, value in row.items() if name != "_deleted"}
            key = tuple(_hashable(stored_row[name]) for name in self.output.keys)
            old = self.rows.get(key)
            if old is not None and order and not _newer(stored_row[order], old[order]):
                continue
            if old is None and deleted:
                continue
            changed.append({**stored_row, "_deleted": deleted})
            if deleted:
                del self.rows[key]
            else:
                self.rows[key] = stored_row
        self.changes.append(changed)


def _newer(new: Any, old: Any) -> bool:
    return old is None or (new is not None and new >= old)


def _hashable(value: Any) -> Any:
    return json.dumps(value, default=str) if isinstance(value, list | dict) else value


class QueryRunner:
    """Runs projects, one after another, in one Spark."""

    def __init__(self, spark) -> None:
        self.spark = spark

    def run(
        self, project, catalog, queries: Sequence[Query], records: dict[str, list[Record]], corner: Corner
    ) -> RunResult:
        """Run all queries, each over all that those before it wrote."""
        parent = SHARED_MEMORY if SHARED_MEMORY.is_dir() else None
        folder = Path(tempfile.mkdtemp(prefix="millstream-bench-", dir=parent))
        self.last = result = RunResult(queries={query.name: query for query in queries})
        try:
            for query in _ordered(queries):
                _Running(
                    self.spark, project, catalog, query, records, corner, folder / query.name, result
                ).run()
        finally:
            shutil.rmtree(folder)
        return result


def _ordered(queries: Sequence[Query]) -> list[Query]:
    waits, left, done = upstream_queries(queries), list(queries), []
    while left:
        ready = next(query for query in left if waits[query.name] <= {earlier.name for earlier in done})
        left.remove(ready)
        done.append(ready)
    return done


class _Running:
    """One query."""

    def __init__(self, spark, project, catalog, query, records, corner, folder, result) -> None:
        self.spark, self.project, self.catalog, self.query = spark, project, catalog, query
        self.records, self.corner, self.folder, self.result = records, corner, folder, result
        # With equal borders, queries also restart at the same one: keys expire when a run ends.
        self.random = Random(f"{corner.seed} {'' if corner.borders else query.name}")
        self.parts: dict[str, list[list[Any]]] = {}
        self.files: dict[str, list[int]] = {}
        self.stored: Stored = {}

    def run(self) -> None:
        self.folder.mkdir()
        topics = {o.topic for o in self.query.outputs if getattr(o, "topic", None)}
        for topic in topics:
            self.result.topics.setdefault(topic, [])
        self.own_topics = topics
        for output in self.query.outputs:
            if isinstance(output, TableOutput):
                self.result.tables[output.model] = Table(output)
        for source in self.query.sources:
            self._cut(source)
        counts = [max(numbers, default=0) + 1 for numbers in self.files.values()]
        stops = [max(counts, default=1)]
        if self.corner.restart and stops[0] > 1:
            stops = [self.random.randint(1, stops[0] - 1), *stops]
        arrived = self.result.arrived[self.query.name] = Arrived()
        written = 0
        for stop in stops:
            for source in self.query.sources:
                self._write(source, written, stop)
            written = stop
            self._stream()
            arrived.starts.append(self._done())
        arrived.starts.pop()
        self._note(arrived)
        self.result.micro_batches += arrived.batches

    def _cut(self, source: StreamRead) -> None:
        """Decide which parts of a relation come in which file."""
        if isinstance(source, ChangesRead):
            parts = self.result.tables[source.relation].changes
        elif source.relation.startswith("source."):
            parts = [[record] for record in self.records[source.stream]]
        else:
            parts = self.result.topics.get(source.stream, [])
        self.parts[source.relation] = parts
        # What keeps no state gives the same rows however it is cut: little is tried.
        most = self.corner.cut if self.query.signature.stateful else min(self.corner.cut, 2)
        if self.corner.borders:
            cuts = [share * len(parts) for share in self.corner.borders]
            self.files[source.relation] = [sum(cut <= i for cut in cuts) for i in range(len(parts))]
            return
        files = min(max(len(parts), 1), most if self.query.models else 1)
        borders = sorted(self.random.sample(range(1, len(parts)), files - 1)) if files > 1 else []
        self.files[source.relation] = [sum(border <= i for border in borders) for i in range(len(parts))]

    def _write(self, source: StreamRead, first: int, stop: int) -> None:
        folder = self.folder / "input" / source.relation
        folder.mkdir(parents=True, exist_ok=True)
        numbers, parts = self.files[source.relation], self.parts[source.relation]
        columns = _columns(source)
        schema = to_arrow_schema(StructType.fromDDL(columns), timezone="UTC")
        for number in range(first, min(stop, max(numbers, default=0) + 1)):
            rows: list[dict[str, Any]] = []
            begin = sum(len(part) for part, of in zip(parts, numbers, strict=True) if of < number)
            for part, of in zip(parts, numbers, strict=True):
                if of == number:
                    rows += (
                        part
                        if isinstance(source, ChangesRead)
                        else [_raw(r, source.stream, begin + len(rows) + i) for i, r in enumerate(part)]
                    )
            names = set(schema.names)
            file = folder / f"{number:06}.parquet"
            pq.write_table(
                pa.Table.from_pylist(
                    [{k: v for k, v in row.items() if k in names} for row in rows], schema=schema
                ),
                file,
            )
            # Spark reads the oldest file first.
            os.utime(file, (1_000_000_000 + number, 1_000_000_000 + number))

    def _stream(self) -> None:
        session, query = self.spark.newSession(), self.query
        for name, value in {**session_settings(query, self.catalog), **QUICK}.items():
            session.conf.set(name, value)
        if not any(isinstance(step, StatefulView) for step in query.steps):
            for name, value in store_settings("memory").items():
                session.conf.set(name, value)
        functions.register_functions(session, self.project, query.functions, query.nested_calls)
        functions.register_decoders(session, self.project, query.decoders)
        for source in query.sources:
            reader = session.readStream.schema(_columns(source)).option("maxFilesPerTrigger", 1)
            reader.parquet(str(self.folder / "input" / source.relation)).createOrReplaceTempView(source.view)
        for read in query.reads:
            kind, _, name = read.relation.partition(".")
            if kind == "seed":
                view_seed(session, read.view, self.project, self.project.seeds[name])
            else:
                self._at_rest(session, read.view, self.result.tables[read.relation])
        for step in query.steps:
            make_view(session, step, self.project, query.output_mode)
        rows = counting.with_counts(session.sql(query.sql), query)
        writer = rows.writeStream.outputMode(query.output_mode).foreachBatch(self._batch)
        writer = writer.option("checkpointLocation", str(self.folder / "checkpoint"))
        running = writer.trigger(availableNow=True).start()
        running.awaitTermination()

    def _at_rest(self, session, view: str, table: Table) -> None:
        columns = ", ".join(f"{quote_name(c.name)} {c.type}" for c in table.output.columns)
        schema = StructType.fromDDL(columns)
        rows = pa.Table.from_pylist(list(table.rows.values()), schema=to_arrow_schema(schema, timezone="UTC"))
        table_to_frame(session, rows, schema).createOrReplaceTempView(view)

    def _batch(self, rows, number: int) -> None:
        sent: dict[str, list[Record]] = {topic: [] for topic in self.own_topics}
        for output in batch_outputs(rows, self.query, number, self.stored):
            if output.kind == "rows":
                self.result.tables[output.output].merge(output.rows)
                continue
            for row in output.rows:
                if row["topic"] is not None:
                    headers = tuple((h["key"], h["value"]) for h in row.get("headers") or ())
                    sent[row["topic"]].append(Record(row["key"], row["value"], headers))
        for topic, records in sent.items():
            self.result.topics[topic].append(records)

    # -- what was in which batch, from the checkpoint

    def _done(self) -> int:
        names = (self.folder / "checkpoint/commits").iterdir()
        return 1 + max((int(path.name) for path in names if path.name.isdigit()), default=-1)

    def _note(self, arrived: Arrived) -> None:
        checkpoint = self.folder / "checkpoint"
        arrived.batches = self._done()
        offsets = []
        for number in range(arrived.batches):
            lines = (checkpoint / "offsets" / str(number)).read_text().splitlines()[2:]
            offsets.append([-1 if line == "-" else json.loads(line)["logOffset"] for line in lines])
        came: dict[tuple[str, int], int] = {}
        for index, log in _logs(checkpoint / "sources"):
            for path, log_offset in log:
                relation, file = path.parent.name, int(path.stem)
                batch = next(n for n, reached in enumerate(offsets) if reached[index] >= log_offset)
                assert came.setdefault((relation, file), batch) == batch, (
                    "two reads of a topic are not in step"
                )
        for relation, numbers in self.files.items():
            arrived.parts[relation] = [came[relation, file] for file in numbers]


def _logs(folder: Path):
    for source in sorted(folder.iterdir()) if folder.is_dir() else ():
        files = []
        for file in source.iterdir():
            if not file.name.startswith("."):
                for line in file.read_text().splitlines()[1:]:
                    entry = json.loads(line)
                    files.append((Path(urlparse(entry["path"]).path), entry["batchId"]))
        yield int(source.name), sorted(set(files), key=lambda pair: pair[1])


def _columns(source: StreamRead) -> str:
    if isinstance(source, ChangesRead):
        return ", ".join([*(f"{quote_name(c.name)} {c.type}" for c in source.columns), "_deleted boolean"])
    return RECORDS


def _raw(record: Record, topic: str, offset: int) -> dict[str, Any]:
    headers = [{"key": key, "value": value} for key, value in record.headers]
    return {
        "key": record.key, "value": record.value, "topic": topic, "partition": 0, "offset": offset,
        "timestamp": _START + timedelta(seconds=offset), "headers": headers,
    }  # fmt: skip
