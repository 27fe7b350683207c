"""How the files of an append-only table are arranged: by folders of values, or clustered."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.expressions import quote_name
from millstream.queries.commands import full_refresh
from millstream.queries.values import TableOutput


def arrangement_sql(table: TableOutput) -> str:
    """Return the clause of CREATE TABLE; empty if files have rows as they come."""
    if partitions := table.options.get("partition_by"):
        return f"partitioned by ({', '.join(map(quote_name, partitions))})"
    if clusters := table.options.get("cluster_by"):
        return f"cluster by ({', '.join(map(quote_name, clusters))})"
    return ""


def arrange_files(session: SparkSession, table: TableOutput, name: str) -> None:
    """Let new files of an existing table be arranged as the model says.

    Delta can cluster by other columns from now on, but partitions can only change with all files.
    """
    detail = session.sql(f"describe detail {name}").select("partitionColumns", "clusteringColumns").first()
    assert detail is not None
    partitions, clusters = table.options.get("partition_by", []), table.options.get("cluster_by", [])
    if _folded(detail.partitionColumns) != _folded(partitions):
        was, now = ", ".join(detail.partitionColumns) or "nothing", ", ".join(partitions) or "nothing"
        relation = table.model.name
        message = f"the table '{relation}' is partitioned by {was}, but by {now} in the model"
        remedy = f"write its files again: {full_refresh([table.model])}; or restore 'partition_by'"
        raise MillstreamError(Diagnostic("MS866", message, None, remedy))
    if _folded(detail.clusteringColumns) != _folded(clusters):
        by = f"({', '.join(map(quote_name, clusters))})" if clusters else "none"
        session.sql(f"alter table {name} cluster by {by}")


def _folded(names: list[str]) -> list[str]:
    return [name.lower() for name in names]
