"""Creates the view of a seed."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.project.contents import content_of
from millstream.project.seed_rows import texts_of
from millstream.project.values import Project, Seed


def view_seed(session: SparkSession, view: str, project: Project, declared: Seed) -> None:
    """Read a CSV file; its rows are part of the query, wherever that runs."""
    texts = texts_of(content_of(project, declared.path), declared)
    names = [column.name for column in declared.columns]
    schema = ", ".join(f"{quote_name(name)} string" for name in names)
    typed = [f.col(quote_name(c.name)).cast(str(c.type or "string")).alias(c.name) for c in declared.columns]
    session.createDataFrame(texts, schema).select(*typed).createOrReplaceTempView(view)
