"""The folder of a target's Parquet tables, and where each table and its record is."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from millstream.project.values import Target
from millstream.stores.folders import RECORDS, TableFolder, table_folder


class ParquetTable(Struct, frozen=True):
    tables: str
    """The folder of all tables."""
    name: str

    @property
    def folder(self) -> str:
        return self.within(self.name)

    @property
    def records(self) -> str:
        """The folder of what Millstream records of the table, and of files that are not part of it yet."""
        return self.within(f"{RECORDS}/{self.name}")

    @property
    def record(self) -> str:
        return f"{self.records}/table.json"

    @property
    def staged(self) -> str:
        return f"{self.records}/staged"

    def within(self, path: str) -> str:
        return f"{self.tables}/{path}"


def parquet_folder(target: Target, root: Path) -> TableFolder:
    return table_folder(target, root, "parquet_path", "parquet")


def parquet_table(path: str) -> ParquetTable:
    """Return the table with this folder."""
    tables, _, name = path.rpartition("/")
    return ParquetTable(tables, name)
