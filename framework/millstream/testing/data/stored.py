"""The stored relations of a project, as views of a separate Spark session."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.compile.data_tests import NAMES, relation_id, sql_name
from millstream.compile.graph import build_graph
from millstream.compile.manifest import ManifestNode
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.project.folders import broker_folder
from millstream.project.values import Project
from millstream.testing.data.result import NotBuilt
from millstream.testing.units.relations import UnitRelations

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from millstream.kafka.clients import Admin
    from millstream.runner.samples.sampling import Sampling


class StoredRelations:
    """Opens each relation when it is first used; `used_registry` is entered before a topic is read."""

    def __init__(
        self,
        project: Project,
        nodes: Mapping[NodeId, ManifestNode],
        relations: UnitRelations,
        spark: Callable[[], SparkSession],
        log: str,
        newest: int | None = None,
        used_registry: Callable[[], AbstractContextManager[object]] = nullcontext,
        sampling: Sampling | None = None,
    ) -> None:
        self._project = project
        self._nodes = nodes
        self._relations = relations
        self._spark = spark
        self._log = log
        self._newest = newest
        self._sampling = sampling
        self._used_registry = used_registry
        self._stack = ExitStack()
        self._session: SparkSession | None = None
        self._admin: Admin | None = None
        self._views: dict[NodeId, str | NotBuilt] = {}

    @property
    def session(self) -> SparkSession:
        if self._session is None:
            self._session = self._spark().newSession()
        return self._session

    def frame(self, relation: NodeId) -> DataFrame | NotBuilt:
        view = self.view(relation)
        return view if isinstance(view, NotBuilt) else self.session.table(view)

    def view(self, relation: NodeId) -> str | NotBuilt:
        if relation not in self._views:
            self._views[relation] = self._create_view(relation)
        return self._views[relation]

    def with_views(self, sql: str) -> str:
        """Replace the names of relations in SQL by those of their views; subqueries may name any relation."""
        return NAMES.sub(self._view_name, sql)

    def unreadable(self, who: str, error: BaseException) -> Diagnostic | None:
        """Return why records can't be decoded, if an error is about that."""
        from millstream.engine.queries.failures import OF_RECORDS, problem_of

        diagnostic = problem_of(who, error, self._log, self._project.target.location)
        return diagnostic if diagnostic.code in OF_RECORDS else None

    def close(self) -> None:
        for view in self._views.values():
            if isinstance(view, str):
                self.session.catalog.dropGlobalTempView(view.partition(".")[2])
        self._stack.close()

    def _view_name(self, match: re.Match[str]) -> str:
        if match[1]:
            return match[0]
        view = self.view(relation_id(match[2]))
        return view if isinstance(view, str) else match[0]

    def _create_view(self, relation: NodeId) -> str | NotBuilt:
        from millstream.runner.samples.stored_rows import NotBuiltError, StoredRows

        catalog, traits = self._relations.catalog, self._relations.traits
        relations = StoredRows(
            self._project,
            catalog,
            traits,
            self._connect,
            lambda id_: build_graph(self._nodes).ancestors(id_) | {id_},
            self._log,
            self._newest,
            self._sampling,
        )
        name = f"stored_{id(self)}_" + re.sub(r"\W", "_", sql_name(relation))
        try:
            # Each relation is read in a separate session, so that its views can't collide with others.
            relations.rows(self.session.newSession(), relation).createGlobalTempView(name)
        except NotBuiltError as error:
            return NotBuilt(str(error))
        except MillstreamError as error:
            if any(diagnostic.code in {"MS827", "MS843", "MS872"} for diagnostic in error.diagnostics):
                return NotBuilt(relation.name)
            raise
        return f"global_temp.{name}"

    def _connect(self) -> Admin:
        """Return the target's Kafka; the local broker is started only if it has topics."""
        if self._admin is None:
            from millstream.kafka.cluster import is_embedded
            from millstream.kafka.connection import connect_kafka
            from millstream.runner.samples.stored_rows import NotBuiltError

            project = self._project
            if is_embedded(project.target) and not broker_folder(Path(project.root)).is_dir():
                raise NotBuiltError(project.settings.name)
            self._admin = self._stack.enter_context(connect_kafka(project))
            self._stack.enter_context(self._used_registry())
        return self._admin
