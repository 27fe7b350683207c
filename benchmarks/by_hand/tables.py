"""State tables: the newest row of each key, in Delta."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery

from by_hand.kafka import QueryContext, records

DELETED, ORDER = "_deleted", "_offset"


def path(context: QueryContext, name: str) -> str:
    return f"{context.checkpoints}/tables/{name}"


def table(context: QueryContext, name: str) -> DataFrame:
    return context.spark.read.format("delta").load(path(context, name))


def merge(context: QueryContext, rows: DataFrame, name: str, key: str, mode: str) -> StreamingQuery:
    """Start a query that keeps a table of rows with the columns `_deleted` and `_offset` beside their own."""
    columns = [column for column in rows.columns if column not in {DELETED, ORDER}]
    target = f"delta.`{path(context, name)}`"
    fields = ", ".join(
        f"`{field.name}` {field.dataType.simpleString()}" for field in rows.select(columns).schema
    )
    context.spark.sql(f"create table if not exists {target} ({fields}) using delta")
    statement = f"""
        merge into {target} as old using {{newest}} as new on old.{key} = new.{key}
        when matched and new.{DELETED} then delete
        when matched then update set {", ".join(f"`{column}` = new.`{column}`" for column in columns)}
        when not matched and not new.{DELETED} then insert ({", ".join(f"`{column}`" for column in columns)})
            values ({", ".join(f"new.`{column}`" for column in columns)})
    """

    def upsert(batch: DataFrame, _: int) -> None:
        # Records of one key are in one partition, where the last one has the largest offset.
        newest = batch.groupBy(key).agg(f.max_by(f.struct("*"), ORDER).alias("row")).select("row.*")
        batch.sparkSession.sql(statement, newest=newest)

    return (
        rows.writeStream.queryName(name)
        .outputMode(mode)
        .foreachBatch(upsert)
        .option("checkpointLocation", f"{context.checkpoints}/{name}")
        .trigger(availableNow=True)
        .start()
    )


def keep_reference(context: QueryContext, topic: str, schema: str, key: str) -> StreamingQuery:
    """Start a query that keeps the newest version of each key of a topic; a record without a value deletes."""
    versions = records(context, topic).select(
        f.col("key").cast("string").alias(key),
        f.from_json(f.col("value").cast("string"), schema).alias("version"),
        f.col("value").isNull().alias(DELETED),
        f.col("offset").alias(ORDER),
    )
    return merge(context, versions.select(key, "version.*", DELETED, ORDER), topic, key, "append")


def keep_state(context: QueryContext, rows: DataFrame, name: str, key: str) -> StreamingQuery:
    """Start a query that keeps an aggregate, which has one row of a key in each batch."""
    marked = rows.withColumns({DELETED: f.lit(False), ORDER: f.lit(0)})
    return merge(context, marked, name, key, "update")
