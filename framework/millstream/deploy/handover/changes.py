"""Which queries of a run another version of the project changes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.files import records_in
from millstream.deploy.engine import Engine
from millstream.deploy.planning.records import taken_over_tables
from millstream.deploy.planning.stages import Stage, rebuilt_queries
from millstream.engine.spark.settings import session_settings
from millstream.queries.values import MemoryEstimate, Query, StatefulOperator
from millstream.sql.tokens import SPARK


def changed_queries(old: Engine, new: Engine, running: Sequence[Query], stages: Sequence[Stage]) -> set[str]:
    """Return the names of running queries that must stop: they are replaced, continue otherwise, or end.

    Queries that look up a table with other columns from now on stop too, as Spark has analyzed their SQL.
    """
    planned = {query.name: query for query in new.job.physical.queries}
    changed = {query.name for query in running if query.name not in planned}
    changed |= {
        query.name
        for query in running
        if query.name in planned and _executed(old, query) != _executed(new, planned[query.name])
    }
    changed |= set(rebuilt_queries(stages))
    records = records_in(new.files, new.checkpoints)
    for query in planned.values():
        changed |= set(taken_over_tables(query, records).values())
    tables = {
        table.model
        for query in planned.values()
        for table in query.tables
        if query.name in records and records[query.name].tables.get(table.model) != table.columns
    }
    changed |= {query.name for query in running if _reads_at_rest(query, tables)}
    return changed & {query.name for query in running}


def _reads_at_rest(query: Query, tables: Collection[NodeId]) -> bool:
    read = {lookup.relation for lookup in query.reads} | {read.relation for read in query.table_reads}
    return bool(read.intersection(tables))


def _executed(engine: Engine, query: Query) -> tuple[object, ...]:
    """Return everything that a query executes, without texts that name models, also those that left it."""
    catalog, project = engine.job.catalog, engine.job.project
    seeds = (lookup.relation.name for lookup in query.reads if lookup.relation in catalog.seeds)
    signature = replace(
        query.signature,
        operators=_unnamed(query.signature.operators),
        former=_unnamed(query.signature.former),
    )
    return (
        replace(query, sql="", signature=signature, memory=MemoryEstimate(None, ""), realtime=()),
        bool(query.realtime),
        [(token.token_type, token.text) for token in SPARK.tokenize(query.sql)],
        [catalog.functions[name].digest for name in query.functions],
        [project.seeds[name].digest for name in seeds],
        [
            project.sources[s.relation.name].options
            for s in query.sources
            if s.relation.name in project.sources
        ],
        session_settings(query, catalog),
    )


def _unnamed(operators: Iterable[StatefulOperator]) -> tuple[StatefulOperator, ...]:
    return tuple(replace(operator, name="") for operator in operators)


def check_rebuilds(queries: Sequence[Query], stages: Sequence[Stage]) -> None:
    """Refuse a rebuild over a topic that is rebuilt too: its new records exist only after the swap.

    Refuse one whose rows nothing holds back until then.
    """
    names = rebuilt_queries(stages)
    if diagnostics := [*_chains(queries, names), *_written_by_kinds(queries, names)]:
        raise MillstreamError(*diagnostics)


def _written_by_kinds(queries: Sequence[Query], names: Collection[str]) -> Iterator[Diagnostic]:
    for query in queries:
        if query.name in names and any(output.written_as == "batch" for output in query.outputs):
            yield _refused(f"{query.title} is rebuilt, and its function would get rows of both versions")


def _chains(queries: Sequence[Query], names: Collection[str]) -> Iterator[Diagnostic]:
    writers = {sink.model: query for query in queries if query.name in names for sink in query.sinks}
    for query in queries:
        for source in query.sources if query.name in names else ():
            writer = writers.get(source.relation)
            if writer is not None and writer.name != query.name:
                yield _refused(f"{query.title} reads the topic of {writer.title}, and both are rebuilt")


def _refused(why: str) -> Diagnostic:
    remedy = "stop the run, run `millstream apply`, and start the run again"
    return Diagnostic("MS898", f"the run can't continue with this change: {why}", None, remedy)
