"""The options of Iceberg tables in a profile."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from millstream.core.durations import PATTERN
from millstream.stores.declaration import FILE_OPTIONS, StoreDeclaration


class IcebergOptions(Struct):
    iceberg_path: Annotated[str | None, Meta(description="where Iceberg tables are")] = None
    old_snapshots: Annotated[
        Annotated[str, Meta(pattern=f"^{PATTERN}$", title="a duration")] | None,
        Meta(description="how long old snapshots of Iceberg tables are kept, by default 1 hour"),
    ] = None


DECLARATION = StoreDeclaration(
    title="Iceberg",
    options=IcebergOptions,
    required={"iceberg_path": "s3a://lake/tables"},
    location=("iceberg_path",),
    lookups=False,
    file_options=FILE_OPTIONS,
    transforms=True,
    unstored=frozenset(("interval", "variant", "void")),
)
