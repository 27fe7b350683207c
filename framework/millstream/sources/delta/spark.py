"""Reads the rows of Delta tables with Spark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.readwriter import DataStreamReader

from millstream.core.expressions import quote_name, sql_literal
from millstream.formats.sql import fields_to_ddl
from millstream.plan.from_sql.row_sources import POSITION
from millstream.project.values import Project, RowSource
from millstream.sources.delta.log import AddedFiles, added_files, check_change_feed, folder_of
from millstream.sources.delta.positions import DeltaPosition, ends
from millstream.sources.positions import Range
from millstream.sources.spark import DELETED, fields_of, typed_columns

_ALL_FILES = 2**31 - 1
"""Batches end with a version: Spark's source would end some after a thousand files."""
_MAY_START_NEXT = "spark.databricks.delta.changeDataFeed.timestampOutOfRange.enabled"
"""Spark starts from a version that does not exist yet, if it would be the next one (DeltaSource)."""

_KIND = "_change_type"


class DeltaRows(Struct, frozen=True):
    session: SparkSession
    source: RowSource
    project: Project

    def stream(self) -> DataFrame:
        if self.source.keys:
            return self._changes(self._reader())
        start = self.source.settings.get("start")
        reader = self._reader()
        if start is not None:
            reader = reader.option(
                "startingVersion" if isinstance(start, int) else "startingTimestamp", start
            )
        return self._typed(reader.load(self._path))

    def after(self, position: DeltaPosition, /) -> DataFrame:
        self.session.conf.set(_MAY_START_NEXT, "true")
        reader = self._reader().option("startingVersion", position.version)
        return self._changes(reader) if self.source.keys else self._typed(reader.load(self._path))

    def rows(self) -> DataFrame:
        return self.between(Range(None, ends(self.source, self.project)))

    def between(self, part: Range) -> DataFrame:
        end, start = part.end, part.start
        assert isinstance(end, DeltaPosition)
        first = start.version if isinstance(start, DeltaPosition) else self._first()
        if first is None:
            return self._typed(self._at_version(end.version - 1))
        groups = added_files(self.source, self.project, first, end.version)
        rows = [self._typed(self._files(group)) for group in groups]
        if not rows:
            return self.session.createDataFrame([], fields_to_ddl(fields_of(self.source)))
        return reduce(DataFrame.union, rows)

    @property
    def _path(self) -> str:
        return folder_of(self.source, self.project)

    def _reader(self) -> DataStreamReader:
        reader = self.session.readStream.format("delta").option("maxFilesPerTrigger", _ALL_FILES)
        skips = self.source.options.get("skip_changes")
        return reader.option("skipChangeCommits", "true") if skips else reader

    def _at_version(self, version: int) -> DataFrame:
        return self.session.read.format("delta").option("versionAsOf", version).load(self._path)

    def _files(self, added: AddedFiles) -> DataFrame:
        return self._at_version(added.version).where(f.col("_metadata.file_name").isin(*added.names))

    def _first(self) -> int | None:
        """Return the version to start from; None if that is the whole table."""
        start = self.source.settings.get("start")
        if start is None or isinstance(start, int):
            return start
        history = self.session.sql(f"describe history delta.{quote_name(self._path)}")
        newer = history.where(f"timestamp >= timestamp {sql_literal(start)}").agg(f.min("version")).first()
        assert newer is not None
        return ends(self.source, self.project).version if newer[0] is None else int(newer[0])

    def _changes(self, reader: DataStreamReader) -> DataFrame:
        """Return the rows that each version deletes, then those that it adds, as `POSITION` says.

        A change of a row is both, since its key can change.
        """
        check_change_feed(self.source, self.project)
        feed = reader.option("readChangeFeed", "true").load(self._path)
        gone = f"{_KIND} in ('update_preimage', 'delete')"
        position = f"_commit_version * 2 + if({gone}, 0, 1) as {POSITION.name}"
        return self._typed(feed.selectExpr("*", position, f"{gone} as {DELETED}"), (POSITION.name, DELETED))

    def _typed(self, rows: DataFrame, others: Sequence[str] = ()) -> DataFrame:
        """Return the declared columns, after a check of their types, and `others`."""
        stored = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
        return typed_columns(rows, self.source, "Delta table", stored, others)


def connect(session: SparkSession, source: RowSource, project: Project) -> DeltaRows:
    return DeltaRows(session, source, project)
