"""Tells before Spark starts that a build has nothing to do: from checkpoints, Kafka and tables alone.

The same holds for an apply, if none was interrupted.

If anything is unknown or out of the ordinary, such as a change that was interrupted, Spark starts as usual.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from millstream.deploy.checkpoints import applied, joined_swap, splitting
from millstream.deploy.checkpoints.deployed import deployed_at
from millstream.deploy.checkpoints.files import (
    checkpoint_folder,
    has_closed_all,
    last_begun,
    last_done,
    read_up_to,
    table_offsets,
)
from millstream.deploy.fit_to_deployment import fit_job
from millstream.deploy.planning.intents import Apply
from millstream.deploy.planning.query_selection import choose_queries
from millstream.deploy.planning.records import Deployed, QueryRecord
from millstream.deploy.planning.stages import Continue, Start, plan_stages, stages_of_query
from millstream.deploy.values import Job
from millstream.engine.spark.target_lock import target_lock
from millstream.kafka.cluster import is_embedded
from millstream.kafka.logs import logs_of
from millstream.project.folders import checkpoints_of, folder_in, local_path
from millstream.queries.lock import Lock
from millstream.queries.values import ChangesRead, Query
from millstream.results.run_results import RunResults
from millstream.runner.commands.model_results import BuildStart, nothing_new, results_of
from millstream.sources.positions import covers, ends_of
from millstream.sources.topic.positions import offsets_in
from millstream.stores.files import LocalFiles
from millstream.stores.local import local_tables, store_of


def results_if_up_to_date(job: Job, folder: Path) -> RunResults | None:
    """Return the results of a build that has nothing to do; None if it may have."""
    began = BuildStart.now()
    queries = up_to_date(job, folder) if choose_queries(job.physical.queries, job.models) else []
    return None if queries is None else results_of(job, began, queries, nothing_new(queries))


def up_to_date(job: Job, folder: Path) -> list[Query] | None:
    """Return the queries of a build that has nothing to do; None if it may have."""
    target, root = job.project.target, Path(job.project.root)
    checkpoints = checkpoints_of(target, root)
    local_folder = local_path(checkpoints)
    if target.environment is not None or job.wait or not (job.continues or isinstance(job.intent, Apply)):
        return None
    if local_folder is None or not local_folder.is_dir():
        return None
    with target_lock(folder_in(folder, target), target.title):
        files = LocalFiles()
        if splitting.has_begun(files, checkpoints) or joined_swap.has_begun(files, checkpoints):
            return None
        if (last := applied.read_apply(files, checkpoints)) is not None and not last.done:
            return None
        deployed = deployed_at(files, checkpoints)
        queries = _continuing(job, deployed)
        if any(query.maintaining is not None and query.maintaining.maintenance.changing for query in queries):
            return None
        if not queries or not _have_read_all(job, queries, deployed.records, checkpoints):
            return None
        return queries


def _continuing(job: Job, deployed: Deployed) -> list[Query]:
    """Return the queries of a build, if all of them would just continue."""
    if deployed.manifest != job.manifest:
        return []
    fitted_job = fit_job(job, deployed)
    physical = fitted_job.job.physical
    # Without models that have state, no lock is written.
    if fitted_job.changes(deployed) or physical.lock != (deployed.lock or Lock()):
        return []
    queries = choose_queries(physical.queries, job.models)
    planned = plan_stages(
        queries, deployed, job.intent, physical.queries, physical.lock, fitted_job.job.misfits
    )
    usual = all(
        stages_of_query(planned, query.name) == (Continue(query.name), Start(query.name)) for query in queries
    )
    return queries if usual and not any(deployed.records[query.name].left_out for query in queries) else []


def _have_read_all(
    job: Job, queries: Sequence[Query], records: Mapping[str, QueryRecord], checkpoints: str
) -> bool:
    files = LocalFiles()
    batches: dict[str, tuple[str, int]] = {}
    for query in queries:
        checkpoint = checkpoint_folder(checkpoints, query.name)
        spark = checkpoint.spark(records[query.name])
        done = last_done(files, spark)
        if done is None or done != last_begun(files, spark) or files.read(checkpoint.rebuild) is not None:
            return False
        closes = query.output_mode == "append" and query.signature.operators
        if closes and not has_closed_all(files, spark, done):
            return False
        batches[query.name] = spark, done
        offsets = table_offsets(files, spark, done)
        if not all(_is_read(job, read, offsets) for read in query.table_reads):
            return False
    if any(read.pattern for query in queries for read in query.topic_reads):
        return False  # only the cluster knows which topics there are
    logs = logs_of(job.project, {topic for query in queries for topic in (*query.topics, *query.topics_read)})
    if logs is None:
        return False
    ends = {
        topic: {n: log.end for n, log in logs.topics[topic].items()}
        for q in queries
        for topic in q.topics_read
    }
    # Generators fill the first topic of a source if it is empty.
    others = {topic for source in job.project.topics.values() for topic in source.topics[1:]}
    filled = [partitions for topic, partitions in ends.items() if topic not in others]
    if is_embedded(job.project.target) and not all(any(partitions.values()) for partitions in filled):
        return False
    for query in queries:
        positions, record = read_up_to(files, *batches[query.name], query.streams) or {}, records[query.name]
        read = offsets_in(positions)
        sources = ends_of(job.project, [source.stream for source in query.source_reads])
        if not covers(positions, sources):
            return False
        if any(logs.ids.get(t) != record.ids.get(t) or ends[t] != read.get(t) for t in query.topics_read):
            return False
    return True


def _is_read(job: Job, source: ChangesRead, offsets: Sequence[Mapping[str, Any]]) -> bool:
    target = job.project.target
    store = store_of(source.relation, job.catalog.own_store(source.relation), target)
    return local_tables(store, target, Path(job.project.root)).is_read(source.relation, offsets)
