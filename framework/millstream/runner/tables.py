"""State tables and reference topics of a project: made, merged into, read and dropped, wherever they are."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.errors import Diagnostic, MillstreamError
from millstream.expressions import quoted
from millstream.physical.values import SourceRead, StaticRead, TableOutput
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.values import Project
from millstream.runner.files import files_of
from millstream.runner.retention import within
from millstream.runner.stores import (
    delta,
    delta_swap,
    postgres,
    postgres_rows,
    postgres_swap,
    postgres_tables,
)
from millstream.tables.places import Delta, Place, place_of

ASIDE = ".rebuilt"
"""What the name of a table ends with until it takes the place of the other one: no model is called so."""
KEPT = ".previous"
"""What the name of a table ends with whose place another one has taken."""


class Tables(Struct, frozen=True, eq=False):
    spark: SparkSession
    project: Project
    catalog: Catalog

    def create(self, table: TableOutput, *, changes: bool) -> bool:
        """Make a table, or add the columns that it lacks; tell if it is known to be new.

        `changes`: somebody reads them as they come.
        """
        match self.place(table.model):
            case Delta() as place:
                return delta.create(self.spark, table, place.place_of(table.model), changes=changes)
            case place:
                postgres_tables.create(place, table)
                return False

    def merge(
        self, rows: DataFrame, table: TableOutput, app: str, batch: int, *, deletes: bool, new: bool
    ) -> None:
        """Store the rows of a batch, one a key, once; `new`: the table is as it was made."""
        match self.place(table.model):
            case Delta() as place:
                path = place.place_of(table.model)
                known = (lambda: None) if new else lambda: delta.newest(rows.sparkSession, table, path)
                with within(rows, table, known) as (kept, limit):
                    if limit is not None:
                        delta.note(rows.sparkSession, path, limit.newest)
                    if new:
                        delta.fill(kept, path, app=app, batch=batch, deletes=deletes)
                    else:
                        delta.merge(kept, table, path, app=app, batch=batch, deletes=deletes, limit=limit)
            case place:
                postgres.merge(rows, table, place, query=app, batch_id=batch, deletes=deletes)

    def swap(self, new: TableOutput, table: TableOutput, app: str, *, changes: bool) -> None:
        """Give a table the rows of another one, which was made anew, once; `changes` as for `create`."""
        match self.place(table.model):
            case Delta() as place:
                paths = place.place_of(new.model), place.place_of(table.model)
                delta_swap.swap(self.spark, table, *paths, app=app, changes=changes)
            case place:
                postgres_swap.swap(place, new, table)

    def copy(self, table: TableOutput, copy: TableOutput) -> None:
        """Make a table that has the rows of another one, and what is known of its batches."""
        match self.place(table.model):
            case Delta() as place:
                delta_swap.copy(self.spark, place.place_of(table.model), place.place_of(copy.model))
            case place:
                postgres_swap.copy(place, table, copy)

    def has_rows(self, table: TableOutput) -> bool:
        """Tell whether a table is there, and not empty."""
        match self.place(table.model):
            case Delta() as place:
                path = place.place_of(table.model)
                return delta.is_there(self.spark, path) and not delta.rows(self.spark, path).isEmpty()
            case place:
                return postgres_tables.has_rows(place, table)

    def rows(self, session: SparkSession, table: TableOutput) -> DataFrame:
        """Return the rows that a table has now."""
        match self.place(table.model):
            case Delta() as place:
                return delta.rows(session, place.place_of(table.model))
            case place:
                return postgres_rows.rows(session, place, table.model, table.columns)

    def drop(self, table: TableOutput) -> None:
        match self.place(table.model):
            case Delta() as place:
                path = place.place_of(table.model)
                files_of(path, self.spark).remove(path)
            case place:
                postgres_tables.drop(place, table)

    def view(self, session: SparkSession, read: StaticRead) -> None:
        """Read a table at rest: each batch sees its newest version."""
        match self.place(read.relation):
            case Delta() as place:
                rows = delta.rows(session, place.place_of(read.relation))
            case place:
                columns = self.catalog.models[read.relation].columns
                rows = postgres_rows.rows(session, place, read.relation, columns)
        rows.createOrReplaceTempView(read.view)

    def stream(self, session: SparkSession, source: SourceRead) -> None:
        """Read the changes of a table as they come: newest rows, and `_deleted` for those that are gone."""
        changes = delta.changes(session, self._telling(source), source.columns)
        changes.createOrReplaceTempView(source.view)

    def whole(self, session: SparkSession, source: SourceRead) -> None:
        """Read the rows that a table has now as its changes up to now."""
        rows = delta.rows(session, self._telling(source))
        columns = (f.col(quoted(column.name)) for column in source.columns)
        rows.select(*columns, f.lit(False).alias("_deleted")).createOrReplaceTempView(source.view)

    def _telling(self, source: SourceRead) -> str:
        """Return the path of a table that tells of its changes."""
        place = self.place(source.relation)
        if isinstance(place, Delta):
            return place.place_of(source.relation)
        name = source.relation.partition(".")[2]
        message = f"'{name}' is kept in PostgreSQL, which tells nobody of its changes"
        remedy = f"give '{name}' store: delta, or join it to a stream"
        raise MillstreamError(Diagnostic("MS875", message, None, remedy))

    def place(self, relation: str) -> Place:
        model = self.catalog.models.get(relation.removesuffix(ASIDE).removesuffix(KEPT))
        options = model.options if model else {}
        return place_of(relation, options, self.project.target, Path(self.project.root))
