"""How many records a job has to read, known before Spark starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from millstream.deploy.checkpoints.files import checkpoint_folder, read_record, read_so_far
from millstream.deploy.values import Job
from millstream.engine.spark.start_settings import Amount
from millstream.kafka.logs import existing_logs
from millstream.project.folders import checkpoints_of, local_path
from millstream.queries.values import Query
from millstream.sources.topic.positions import offsets_in
from millstream.stores.files import LocalFiles

MANY = 500_000
"""From so many records on, compiling to faster code takes less CPU than it saves."""


def amount_to_read(job: Job, queries: Sequence[Query]) -> Amount:
    return "many" if count_unread(job, queries) >= MANY else "few"


def count_unread(job: Job, queries: Sequence[Query]) -> int:
    """Return how many records of all topics a query has not read; 0 if that can't be known now."""
    logs = existing_logs(job.project, {topic for query in queries for topic in query.topics_read})
    if logs is None:
        return 0
    most: dict[tuple[str, int], int] = {}
    for query in queries:
        read = _read(job, query)
        for topic in logs.topics.keys() & query.topics_read:
            for number, log in logs.topics[topic].items():
                position = max(log.first, read.get(topic, {}).get(number, 0))
                most[topic, number] = max(most.get((topic, number), 0), log.end - position)
    return sum(most.values())


def _read(job: Job, query: Query) -> Mapping[str, Mapping[int, int]]:
    """Return up to where a query has read its topics, as far as its checkpoint is on this machine."""
    checkpoints = checkpoints_of(job.project.target, Path(job.project.root))
    if not job.continues or local_path(checkpoints) is None:
        return {}
    files, checkpoint = LocalFiles(), checkpoint_folder(checkpoints, query.name)
    record = read_record(files, checkpoint)
    return {} if record is None else offsets_in(read_so_far(files, checkpoint.spark(record)))
