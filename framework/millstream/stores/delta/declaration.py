"""The options of Delta tables in a profile."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from millstream.core.durations import PATTERN
from millstream.stores.declaration import FILE_OPTIONS, StoreDeclaration


class DeltaOptions(Struct):
    path: Annotated[str | None, Meta(description="where Delta tables are")] = None
    old_files: Annotated[
        Annotated[str, Meta(pattern=f"^{PATTERN}$", title="a duration")] | None,
        Meta(
            description="how long files of Delta tables are kept that only older versions need; by default "
            "1 hour, and 1 day for tables whose changes are recorded",
        ),
    ] = None
    deletion_vectors: Annotated[
        bool | None,
        Meta(
            description="false: batches write files again, instead of marking rows of tables of more than "
            "64 MB as deleted; programs that read marked tables must know Delta's deletion vectors",
        ),
    ] = None


DECLARATION = StoreDeclaration(
    title="Delta",
    options=DeltaOptions,
    location=("path",),
    change_feed=True,
    versions=True,
    file_options=FILE_OPTIONS,
    fixed_partitions=True,
    unstored=frozenset(("interval",)),
    unstored_within=frozenset(("void",)),
    spark_settings={
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    },
)
