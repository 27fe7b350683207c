"""Inputs without rows: Spark analyzes and runs the SQL of a model, and reads nothing."""

from __future__ import annotations

from msgspec import Struct
from pyspark.sql import SparkSession

from millstream.engine.queries.seeds import view_seed
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.values import Project
from millstream.queries.references import reference_outputs
from millstream.queries.topology import written_plan
from millstream.queries.values import StaticRead, StreamRead
from millstream.runner.samples.streaming_checks import empty_at_rest, empty_feed
from millstream.runner.samples.trial import rows_to_frame, view_at_rest


class EmptyInputs(Struct, frozen=True, eq=False):
    project: Project
    catalog: Catalog

    def stream(self, session: SparkSession, read: StreamRead, /) -> None:
        rows_to_frame(session, (), empty_feed(read, self.catalog).columns).createOrReplaceTempView(read.view)

    def at_rest(self, session: SparkSession, read: StaticRead, /) -> None:
        if read.relation.kind == "seed":
            view_seed(session, read.view, self.project, self.project.seeds[read.relation.name])
            session.table(read.view).limit(0).createOrReplaceTempView(read.view)
            return
        outputs = reference_outputs(written_plan(self.catalog), self.catalog.sources)
        columns = {output.model: output.columns for output in outputs}
        view_at_rest(session, self.project, empty_at_rest(read.view, read.relation, self.catalog, columns))
