"""The state tables and reference topics of a project, each in its store."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId
from millstream.engine.queries.deletions import (
    REQUESTS_SUFFIX,
    requests_of,
    without_deleted,
    without_requested,
)
from millstream.engine.queries.versions import version_differences
from millstream.engine.queries.watched_tables import stream_versions
from millstream.plan.from_sql.catalog import Catalog
from millstream.plan.from_sql.topics import topic_node
from millstream.plan.from_sql.versions import stored_versions
from millstream.plan.nodes import Column
from millstream.plan.time_ranges import TimeRange
from millstream.project.values import Project
from millstream.queries.values import ChangesRead, StaticRead, TableOutput
from millstream.stores.local import store_of
from millstream.stores.registry import store_declaration
from millstream.stores.spark import (
    CopiedRows,
    SparkTables,
    StreamedTables,
    TableBatch,
    TableVersion,
    VersionedTables,
    spark_tables,
    streamed_tables,
    versioned_tables,
)

PENDING_SUFFIX = ".rebuilt"
"""The suffix of a rebuilt table until the swap; names of models can't contain a dot."""
RETAINED_SUFFIX = ".previous"
"""The suffix of a table that is retained for a rollback."""
SNAPSHOT_SUFFIX = ".compared"
"""The suffix of a copy that a rebuilt table is compared with, since the table itself continues to change."""
_SUFFIXES = re.compile(r"(\.(rebuilt|previous|compared|deletions))+\Z")


def not_built(relation: NodeId) -> Diagnostic:
    """Return why a table can't be read that no build has made, or that someone has removed."""
    name = relation.name
    return Diagnostic("MS843", f"'{name}' has not been built", None, build_first(relation))


def build_first(relation: NodeId) -> str:
    """Return the remedy for a table that has not been built, or not since an edit."""
    kind, name = relation.kind, relation.name
    chosen = "" if kind == "source" else f" --select +{name}"
    return f"build it first: `millstream build{chosen}`"


class Tables(Struct, frozen=True, eq=False):
    spark: SparkSession
    project: Project
    catalog: Catalog

    def create(self, table: TableOutput, *, changes: bool) -> bool:
        self._check(table)
        if (requests := requests_of(table)) is not None:
            self.of(table.model).create(requests, changes=False)
        return self.of(table.model).create(table, changes=changes)

    def merge(self, rows: DataFrame, table: TableOutput, batch: TableBatch) -> None:
        self._check(table)
        store = self.of(table.model)
        if (requests := requests_of(table)) is not None:
            with without_deleted(rows, requests, store, batch) as (remaining, remaining_batch):
                store.merge(remaining, table, remaining_batch)
            return
        if table.versions is None:
            store.merge(rows, table, batch)
            return
        stored = store.rows(rows.sparkSession, table.model, table.columns)
        with version_differences(rows, stored, table) as differences:
            store.merge(differences.rows, table, replace(batch, deletes=True, local=differences.few))

    def not_deleted(self, rows: DataFrame, table: TableOutput) -> DataFrame:
        """Return the rows of a batch that no request has deleted, without requests, if the table has any."""
        requests = requests_of(table)
        return rows if requests is None else without_requested(rows, requests, self.of(table.model))

    def replace_range(self, rows: DataFrame, table: TableOutput, part: TimeRange) -> None:
        """Replace the rows of a range by others that are `not_deleted`."""
        self._check(table)
        self.of(table.model).replace_range(rows, table, part)

    def swap(self, new: TableOutput, table: TableOutput, swap: str, *, changes: bool) -> None:
        self._check(table)
        requests, new_requests = requests_of(table), requests_of(new)
        if requests is not None and new_requests is not None:
            self.of(table.model).swap(new_requests, requests, swap, changes=False)
        self.of(table.model).swap(new, table, swap, changes=changes)

    def copy(self, table: TableOutput, copy: TableOutput) -> None:
        """Copy a table, also with requests of which nothing else is known, such as that of an old version."""
        if table.appends:
            self.of(table.model).copy(_requests_named(table), _requests_named(copy))
        self.of(table.model).copy(table, copy)

    def drop(self, table: TableOutput) -> None:
        """Drop a table, also with requests of which nothing else is known, since its model is gone."""
        if table.appends:
            self.of(table.model).drop(_requests_named(table))
        self.of(table.model).drop(table)

    def has_rows(self, table: TableOutput) -> bool:
        return self.of(table.model).has_rows(table)

    def rows(self, session: SparkSession, table: TableOutput) -> DataFrame:
        return self.of(table.model).rows(session, table.model, table.columns)

    def view(self, session: SparkSession, read: StaticRead) -> None:
        """Read a table at rest: each batch reads its newest version."""
        self._check_built(read.relation)
        columns = self._columns(read.relation)
        self.of(read.relation).rows(session, read.relation, columns).createOrReplaceTempView(read.view)

    def copied(self, relation: NodeId, version: TableVersion | None) -> CopiedRows | None:
        return self.of(relation).copied(relation, version)

    def stream(self, session: SparkSession, source: ChangesRead) -> None:
        """Read the changes of a table as a stream: new versions of rows, with `_deleted` for deleted rows."""
        self._check_built(source.relation)
        changes = self._streamed(source.relation).changes(session, source.relation, source.columns)
        changes.createOrReplaceTempView(source.view)

    def trigger(self, session: SparkSession, source: ChangesRead) -> None:
        """Begin a batch for each change of a table; the rows of the stream are never read."""
        relation = source.relation
        # A rebuild replaces an append-only table with its columns, after which Delta's stream would end.
        replaced = self.catalog.is_appended(relation)
        if store_declaration(self._store(relation)).change_feed and not replaced:
            self.stream(session, source)
            return
        self._check_built(relation)
        newest = partial(self.versioned(relation).newest, self.spark, relation)
        stream_versions(session, relation, newest).createOrReplaceTempView(source.view)

    def feed(self, session: SparkSession, source: ChangesRead) -> DataFrame:
        """Return the changes of a table as a stream, with the rows before (`StreamedTables.feed`)."""
        self._check_built(source.relation)
        return self._streamed(source.relation).feed(session, source.relation, source.columns)

    def _columns(self, relation: NodeId) -> tuple[Column, ...]:
        spec, topic = self.catalog.models.get(relation), self.catalog.topics.get(relation)
        if topic is not None:
            node = stored_versions(topic, at_rest=True) if topic.versions else topic_node(topic, metadata=())
            return node.columns
        if (source := self.catalog.row_sources.get(relation)) is not None:
            return source.columns
        return spec.columns if spec is not None else ()

    def keys(self, relation: NodeId) -> tuple[str, ...]:
        if (topic := self.catalog.topics.get(relation)) is not None:
            return stored_versions(topic, at_rest=False).keys
        if (source := self.catalog.row_sources.get(relation)) is not None:
            return source.unique_by
        return self.catalog.models[relation].keys

    def view_as_changes(self, session: SparkSession, read: ChangesRead) -> None:
        """Read the current rows of a table as its changes so far."""
        self._check_built(read.relation)
        rows = self._streamed(read.relation).rows(session, read.relation, read.columns)
        columns = (f.col(quote_name(column.name)) for column in read.columns)
        rows.select(*columns, f.lit(False).alias("_deleted")).createOrReplaceTempView(read.view)

    def of(self, relation: NodeId) -> SparkTables:
        return spark_tables(self._store(relation), self.project.target, Path(self.project.root), self.spark)

    def sends_rows(self, relation: NodeId) -> bool:
        return store_declaration(self._store(relation)).sends_rows

    def record_changes(self, session: SparkSession, relation: NodeId) -> None:
        """Let a table record its changes from now on."""
        self._check_built(relation)
        self.versioned(relation).record_changes(session, relation)

    def versioned(self, relation: NodeId) -> VersionedTables:
        """Return the store of a relation whose versions can be read."""
        root = Path(self.project.root)
        return versioned_tables(self._store(relation), self.project.target, root, self.spark)

    def is_at_first_rows(self, relation: NodeId, offset: Mapping[str, Any]) -> bool:
        """Return whether an offset is before the end of the rows with which a stream of changes began."""
        return self._streamed(relation).is_at_first_rows(offset)

    def exists(self, relation: NodeId) -> bool:
        return self.of(relation).exists(relation)

    def missing_columns(self, relation: NodeId) -> frozenset[str]:
        """Return the columns, in lower case, that a model has, but not yet its table."""
        stored = {name.lower() for name in self.of(relation).rows(self.spark, relation, ()).columns}
        return frozenset(column.name.lower() for column in self._columns(relation)) - stored

    def _check_built(self, relation: NodeId) -> None:
        if not self.exists(relation):
            raise MillstreamError(not_built(relation))

    def _check(self, table: TableOutput) -> None:
        if (environment := self.project.target.environment) is not None:
            environment.check(table.model)

    def _streamed(self, relation: NodeId) -> StreamedTables:
        root = Path(self.project.root)
        return streamed_tables(relation, self._store(relation), self.project.target, root, self.spark)

    def _store(self, relation: NodeId) -> str:
        model_store = self.catalog.own_store(NodeId.parse(_SUFFIXES.sub("", str(relation))))
        return store_of(relation, model_store, self.project.target)


def _requests_named(table: TableOutput) -> TableOutput:
    return TableOutput(table.model.with_ending(REQUESTS_SUFFIX))
