"""The port for the Spark part of a kind of source: its module `spark` has `connect`."""

from __future__ import annotations

from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from millstream.core.node_id import NodeId
from millstream.project.values import Project, RowSource
from millstream.sources.positions import Range
from millstream.sources.registry import source_module


class SparkSource(Protocol):
    """One source, in a session of Spark."""

    def stream(self) -> DataFrame:
        """Return its rows as they come, with metadata columns; a checkpoint says where it continues."""

    def after(self, position: Any, /) -> DataFrame:
        """Return the same without the rows before a position of another query."""

    def rows(self) -> DataFrame:
        """Return the rows that it has now, with metadata columns."""

    def between(self, part: Range) -> DataFrame:
        """Return the rows of a part of it, with metadata columns."""


def spark_source(session: SparkSession, project: Project, relation: NodeId) -> SparkSource:
    """Return the source of a relation; `relation` is its id."""
    source = project.sources[relation.name]
    assert isinstance(source, RowSource), f"{relation} is read as records"
    connected: SparkSource = source_module(source.kind, "spark").connect(session, source, project)
    return connected
