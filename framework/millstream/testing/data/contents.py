"""What data tests read, as digests: one that passed passes again while its digest is the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from millstream.compile.data_tests import DataTest, data_test, relations_of
from millstream.compile.graph import build_graph
from millstream.compile.manifest import Compiled
from millstream.core.node_id import NodeId
from millstream.kafka.logs import logs_of
from millstream.local.broker.log_bounds import BrokerLogs
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.values import Project
from millstream.queries.topology import read_catalog
from millstream.queries.values import stream_of
from millstream.sources.positions import Positions, ends_of
from millstream.sql.changing_functions import changing_function
from millstream.stores.local import local_tables, store_of
from millstream.testing.digests import digest_values


def contents_of(project: Project, compiled: Compiled, ids: Iterable[NodeId]) -> dict[NodeId, str]:
    """Return a digest for each test whose result depends on nothing but its SQL and known stored rows."""
    if project.target.environment is not None:
        return {}  # what it reads from production is not known here
    nodes, catalog = compiled.manifest.nodes, read_catalog(compiled)
    above = build_graph(nodes).ancestors
    reads = {id_: _Read(compiled, catalog, above, data_test(nodes[id_], compiled.tests)) for id_ in ids}
    settled = {id_: read for id_, read in reads.items() if not read.changes_by_itself()}
    topics = {topic for read in settled.values() for topic in read.topics()}
    logs = logs_of(project, topics) if topics else BrokerLogs()
    tables = {table for read in settled.values() for table in read.tables()}
    versions = {table: _version(project, catalog, table) for table in tables}
    ends = ends_of(project, {stream for read in settled.values() for stream in read.streams()})
    digests = {id_: read.digest(logs, versions, ends) for id_, read in settled.items()}
    return {id_: digest for id_, digest in digests.items() if digest}


class _Read(Struct, frozen=True):
    """What one test reads."""

    compiled: Compiled
    catalog: Catalog
    above: Callable[[NodeId], frozenset[NodeId]]
    test: DataTest

    def relations(self) -> list[NodeId]:
        """Return the relations whose rows are stored, and the views between these and the test."""
        ids: dict[NodeId, None] = {}
        waiting = sorted(relations_of(self.test))
        while waiting:
            if (id_ := waiting.pop()) not in ids:
                ids[id_] = None
                waiting += self.compiled.manifest.nodes[id_].depends_on if self._is_view(id_) else ()
        return sorted(ids)

    def changes_by_itself(self) -> bool:
        """Whether it calls something whose value changes, or a Python function, which could do anything."""
        views = [id_ for id_ in self.relations() if self._is_view(id_)]
        texts = [self.compiled.sql.get(id_, "now()") for id_ in views]
        texts += [value for value in msgspec.structs.astuple(self.test) if isinstance(value, str)]
        nodes = [self.compiled.manifest.nodes[id_] for id_ in (*views, self.test.id)]
        return any(node.functions for node in nodes) or any(map(changing_function, texts))

    def topics(self) -> Iterator[str]:
        for id_ in self.relations():
            if id_ in self.catalog.topics:
                yield from self.catalog.topics[id_].topics
            elif id_ in self.catalog.models and (topic := self.catalog.models[id_].materialization.topic):
                yield topic

    def tables(self) -> list[NodeId]:
        models = self.catalog.models
        return [id_ for id_ in self.relations() if id_ in models and models[id_].materialization.keeps_rows]

    def streams(self) -> list[str]:
        """Return the names of sources other than topics."""
        sources = self.catalog.row_sources
        return [stream_of(sources[id_].kind, id_) for id_ in self.relations() if id_ in sources]

    def digest(
        self, logs: BrokerLogs | None, versions: Mapping[NodeId, str | None], ends: Positions
    ) -> str | None:
        """Return the digest of all that decides; None if something stored is unknown."""
        topics = [
            (topic, logs and (logs.ids[topic], sorted(logs.topics[topic].items()))) for topic in self.topics()
        ]
        tables = [(table, versions[table]) for table in self.tables()]
        if any(version is None for _, version in (*topics, *tables)):
            return None
        others = [(stream, ends[stream].stored()) for stream in self.streams()]
        return digest_values((str(type(self.test)), self.test, topics, tables, others, *self._definitions()))

    def _definitions(self) -> Iterator[Any]:
        """Yield how stored rows are read, and what views make of them."""
        catalog, topics = self.catalog, [*self.topics()]
        yield catalog.target
        relations = frozenset(self.relations())
        if topics:
            # Models above a topic decide whether a record replaces the one before with its key.
            relations = relations.union(*map(self.above, relations))
            yield catalog.functions  # some may decode records
        for id_ in sorted(relations):
            yield id_, catalog.sources.get(id_), catalog.seeds.get(id_)
            if (spec := catalog.models.get(id_)) is not None:
                yield replace(spec, checks=(), promised=(), metrics=(), log=None)

    def _is_view(self, id_: NodeId) -> bool:
        spec = self.catalog.models.get(id_)
        return spec is not None and not spec.materialization.stored_as


def _version(project: Project, catalog: Catalog, table: NodeId) -> str | None:
    store = store_of(table, catalog.own_store(table), project.target)
    return local_tables(store, project.target, Path(project.root)).version(table)
