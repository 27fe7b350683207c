"""Parquet tables without Spark: Arrow reads them, DataFusion runs queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.project.s3 import S3, arrow_s3
from millstream.project.values import Target
from millstream.stores.files import LocalFiles, ReadableFiles
from millstream.stores.folders import writable_folder
from millstream.stores.local_folders import LocalFolders
from millstream.stores.parquet.arrow import arrow_type
from millstream.stores.parquet.folder import ParquetTable, parquet_folder, parquet_table
from millstream.stores.parquet.record import TableRecord, data_files, read_record
from millstream.stores.s3_files import S3Files
from millstream.stores.tables.relations import StoredRelation

if TYPE_CHECKING:
    from millstream.stores.tables.datafusion import OpenedTables


class LocalParquet(LocalFolders, frozen=True):
    files: ReadableFiles

    def open(self, table: StoredRelation, opened: OpenedTables) -> None:
        stored = parquet_table(self.tables.read(table.id))
        if (record := read_record(self.files, stored)) is None:
            return
        from deltalake.exceptions import DeltaError

        try:
            opened.add_arrow(table, _read(self.files, stored, record))
        except (DeltaError, OSError, ValueError) as error:  # Arrow's errors, also while the rows are copied
            message = f"the table '{table.name}' can't be read: {str(error)[:300]}"
            remedy = "remove files that are not Millstream's from its folder, or rebuild it"
            raise MillstreamError(Diagnostic("MS630", message, None, remedy)) from None

    def is_read(self, _relation: NodeId, _offsets: Sequence[Mapping[str, Any]]) -> bool:
        return False  # it has no change feed

    def version(self, relation: NodeId) -> str | None:
        content = self.files.read(parquet_table(self.tables.read(relation)).record)
        return None if content is None else blake2b(content, digest_size=12).hexdigest()

    def reached(self) -> str:
        return writable_folder(self.folder, "parquet_path", "MS630")


def _read(stored: ReadableFiles, table: ParquetTable, record: TableRecord) -> Any:
    """Return batches of Arrow with the rows of a table."""
    import pyarrow as pa
    from pyarrow import dataset

    schema = pa.schema([(name, arrow_type(parse_type(type_))) for name, type_ in record.columns.items()])
    partitions = pa.schema([schema.field(name) for name in record.partition_by])
    folder = table.folder.removeprefix(S3)
    rows = dataset.dataset(
        [f"{folder}/{path}" for path in data_files(stored, table)],
        schema=schema,
        format="parquet",
        partitioning=dataset.partitioning(partitions, flavor="hive"),
        partition_base_dir=folder,
        filesystem=stored.client if isinstance(stored, S3Files) else None,
    )
    return rows.scanner().to_reader()


def locate(target: Target, root: Path) -> LocalParquet:
    folder = parquet_folder(target, root)
    in_s3 = folder.path.startswith(S3)
    files = S3Files(arrow_s3(target.settings)) if in_s3 else LocalFiles()
    return LocalParquet(folder, target.settings, files)
