"""The options of Iceberg tables in a profile."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from millstream.core.durations import PATTERN
from millstream.stores.declaration import FILE_OPTIONS, StoreDeclaration


class IcebergOptions(Struct):
    iceberg_path: Annotated[str | None, Meta(description="where Iceberg tables are, if in no catalog")] = None
    iceberg_catalog: Annotated[
        str | None, Meta(description="the REST catalog of Iceberg tables: one of `catalogs` of the target")
    ] = None
    iceberg_namespace: Annotated[
        str | None, Meta(description="the namespace of Iceberg tables in their catalog")
    ] = None
    old_snapshots: Annotated[
        Annotated[str, Meta(pattern=f"^{PATTERN}$", title="a duration")] | None,
        Meta(description="how long old snapshots of Iceberg tables are kept, by default 1 hour"),
    ] = None


DECLARATION = StoreDeclaration(
    title="Iceberg",
    options=IcebergOptions,
    required={"iceberg_path": "s3a://lake/tables"},
    in_catalog={"iceberg_catalog": "lake", "iceberg_namespace": "shop"},
    location=("iceberg_path",),
    versions=True,
    lookups=False,
    file_options=FILE_OPTIONS,
    transforms=True,
    unstored=frozenset(("interval", "variant", "void")),
    # Catalogs write s3://, which Hadoop has no client for by this name.
    spark_settings={"spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem"},
)
