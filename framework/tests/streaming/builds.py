"""A project through real builds on Kafka and Delta, with records produced in between; then what the oracle expects."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from support.runs import built, create_topics, errors, job_of, received, send, table_rows

from millstream.compile import compile_project
from millstream.deploy.checkpoints.files import checkpoint_folder, read_record
from millstream.project.folders import checkpoints_of
from millstream.queries.values import TableOutput
from millstream.stores.files import LocalFiles
from streaming.oracle import Oracle, expected
from streaming.query_runner import Arrived, Record, RunResult
from streaming.running import Records, differences
from streaming.shapes import Lookup, Model, Project
from streaming.texts import write

if TYPE_CHECKING:
    from streaming.row_inputs import RowInputs


def fits(project: Project) -> bool:
    """Tell whether what is at rest stays as it is from the first build on: a lookup sees what there is by then."""
    looked_up = [model.body.at_rest for model in project.models if isinstance(model.body, Lookup)]
    return not any(isinstance(project.by_name[name], Model) for name in looked_up)


def is_accepted(project: Project) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        compiled = compile_project(write(Path(folder), project), use_cache=False)
    return not any(diagnostic.severity == "error" for diagnostic in compiled.diagnostics)


def build_in_parts(
    root: Path,
    bootstrap: str,
    spark,
    project: Project,
    all_records: Records,
    target: str,
    seed: int,
    builds: int = 3,
    inputs: RowInputs | None = None,
) -> list[str]:
    """Build a project several times, with and without fast paths in turns; return what differs.

    Its sources are topics, or what `inputs` keeps.
    """
    random = Random(f"builds {seed}")
    create_topics(bootstrap, *all_records, partitions=1)
    with_rows = {s.name: s for s in project.sources if inputs is not None and inputs.takes(s)}
    for source in with_rows.values():
        inputs.create(source)
    starts: dict[str, list[int]] = {}
    came: dict[str, list[int]] = {source.id: [] for source in with_rows.values()}
    left = {name: list(records) for name, records in all_records.items()}
    for number in range(builds):
        write(root, project, fast_paths=("on", "off")[(number + seed) % 2], inputs=inputs)
        for name, records in left.items():
            # What is looked up comes first, as a whole.
            sends_all = number == builds - 1 or project.by_name[name].table
            count = len(records) if sends_all else random.randint(0, len(records))
            if source := with_rows.get(name):
                if count:
                    inputs.write(source, records[:count])
                came[source.id] += [number for record in records[:count] if record.key != b"bad"]
            else:
                send(bootstrap, {name: [(record.key, record.value) for record in records[:count]]})
            del records[:count]
        _, events = built(root, spark, target=target)
        if failed := errors(events):
            return [f"refused at run time: {diagnostic.code} {diagnostic.message}" for diagnostic in failed]
        for query, folder in _checkpoints(root, target).items():
            starts.setdefault(query, []).append(_done(folder))
    result = _Read(root, bootstrap, project, target, starts, came).result
    # Nothing of a line that is no JSON is stored or sent.
    records = {
        n: [r for r in those if n not in with_rows or r.key != b"bad"] for n, those in all_records.items()
    }
    oracle = Oracle(project, records)
    makers = {model.id: maker for model in project.models if (maker := result.maker(model.id))}
    return differences(project, oracle, expected(oracle, result.arrived, makers), result, records)


def _checkpoints(root: Path, target: str) -> dict[str, Path]:
    """Return Spark's folder of each query."""
    job = job_of(root, target=target)
    folders = {}
    for query in job.physical.queries:
        location = checkpoint_folder(checkpoints_of(job.project.target, root), query.name)
        record = read_record(LocalFiles(), location)
        if record is not None:
            folders[query.name] = Path(location.spark(record))
    return folders


def _done(folder: Path) -> int:
    commits = folder / "commits"
    return (
        1 + max((int(p.name) for p in commits.iterdir() if p.name.isdigit()), default=-1)
        if commits.is_dir()
        else 0
    )


class _Read:
    """What builds have stored, and which records were in which micro-batch, by Spark's logs of offsets."""

    def __init__(
        self,
        root: Path,
        bootstrap: str,
        project: Project,
        target: str,
        starts: dict[str, list[int]],
        came: dict[str, list[int]],
    ) -> None:
        self.project = project
        job = job_of(root, target=target)
        folders = _checkpoints(root, target)
        queries = {query.name: query for query in job.physical.queries}
        self.result = RunResult(queries=queries)
        topics = {o.topic for query in queries.values() for o in query.outputs if getattr(o, "topic", None)}
        self.messages = {topic: received(bootstrap, topic) for topic in topics}
        for topic, messages in self.messages.items():
            records = [Record(m.key(), m.value(), tuple(m.headers() or ())) for m in messages]
            self.result.topics[topic] = [records]
        for query in queries.values():
            for output in query.outputs:
                if isinstance(output, TableOutput):
                    self.result.tables[output.model] = _Rows(table_rows(root, output.model, target))
        self.offsets = {name: _offsets(folder) for name, folder in folders.items()}
        for name, query in queries.items():
            arrived = Arrived(batches=_done(folders[name]), starts=starts[name][:-1])
            for read in query.topic_reads:
                arrived.parts[read.relation] = self._parts(name, read.relation, read.stream)
            for relation in {source.relation for source in query.sources} & came.keys():
                # The first batch of a build reads all files or versions that are new.
                arrived.parts[relation] = [[0, *starts[name]][build] for build in came[relation]]
            self.result.arrived[name] = arrived

    def _batch(self, query: str, topic: str, partition: int, offset: int) -> int:
        """Return the micro-batch of a query in which a record was."""
        return next(
            n for n, ends in enumerate(self.offsets[query]) if ends.get((topic, partition), 0) > offset
        )

    def _parts(self, query: str, relation: str, topic: str) -> list[int]:
        if relation.startswith("source."):
            ends = [ends_of_batch.get((topic, 0), 0) for ends_of_batch in self.offsets[query]]
            return [self._batch(query, topic, 0, offset) for offset in range(max(ends, default=0))]
        writer = self.result.maker(relation)
        assert writer is not None
        batches = [0] * len(self.offsets[writer])
        for message in self.messages[topic]:
            of = self._written_in(writer, dict(message.headers() or ()))
            batches[of] = self._batch(query, topic, message.partition(), message.offset())
        return batches

    def _written_in(self, writer: str, headers: dict[str, bytes]) -> int:
        """Return the batch of the query that wrote a record."""
        if batch := headers.get("millstream.batch"):
            return int(batch.decode().rpartition("/")[2])
        topic, partition, offset = headers["millstream.position"].decode().rsplit("-", 2)
        return self._batch(writer, topic, int(partition), int(offset))


class _Rows:
    def __init__(self, rows: list[dict]) -> None:
        self.rows = dict(enumerate(rows))


def _offsets(folder: Path) -> list[dict[tuple[str, int], int]]:
    """Return where each batch of a query ends: by topic and partition, the record after its last."""
    offsets = []
    for number in range(_done(folder)):
        ends: dict[tuple[str, int], int] = {}
        for line in (folder / "offsets" / str(number)).read_text().splitlines()[2:]:
            for topic, partitions in (json.loads(line) if line != "-" else {}).items():
                if isinstance(partitions, dict):
                    ends |= {(topic, int(n)): end for n, end in partitions.items()}
        offsets.append(ends)
    return offsets
