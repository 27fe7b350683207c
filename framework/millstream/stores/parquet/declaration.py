"""The options of Parquet tables in a profile."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from millstream.stores.declaration import StoreDeclaration


class ParquetOptions(Struct):
    parquet_path: Annotated[str | None, Meta(description="where append-only tables of Parquet files are")] = (
        None
    )


DECLARATION = StoreDeclaration(
    title="Parquet",
    options=ParquetOptions,
    required={"parquet_path": "lake/events"},
    location=("parquet_path",),
    in_folder=True,
    lookups=False,
    appends_only=True,
    file_options=("partition_by",),
    # Values are names of folders: readers take the text 007 for a number, and an empty text for NULL.
    partition_types=("date", "tinyint", "smallint", "int", "bigint"),
    fixed_partitions=True,
    unstored=frozenset(("interval", "variant", "void")),
)
