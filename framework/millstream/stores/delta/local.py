"""Delta tables without Spark: delta-rs opens them, DataFusion runs queries."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from millstream.errors import Diagnostic, MillstreamError, os_reason
from millstream.project.folders import is_outside, local_path
from millstream.project.values import Target
from millstream.stores.delta.folder import DeltaFolder, delta_folder
from millstream.tables.known import Known
from millstream.tables.values import Answer

if TYPE_CHECKING:
    from millstream.tables.datafusion import OpenedTables


class LocalDelta(Struct, frozen=True):
    tables: DeltaFolder

    @property
    def folder(self) -> str:
        return self.tables.path

    def names(self) -> list[str]:
        raise NotImplementedError("tables are folders")

    def drop_all(self) -> None:
        raise NotImplementedError("tables are folders")

    def answer(
        self, _sql: str, _known: Mapping[str, Known], *, zone: str, limit: int | None
    ) -> Answer | None:
        """Return None, since DataFusion runs all queries of Delta tables."""

    def open(self, table: Known, opened: OpenedTables) -> None:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        from millstream.tables.mistakes import clean

        try:
            opened.add(table, DeltaTable(self.tables.read(table.id)))
        except TableNotFoundError:
            return
        except (DeltaError, OSError) as error:
            remedy = "check that the storage is reachable and its credentials are in the environment"
            message = f"the table '{table.name}' can't be read: {clean(str(error))[:300]}"
            raise MillstreamError(Diagnostic("MS847", message, None, remedy)) from None

    def is_read(self, relation: str, offsets: Sequence[Mapping[str, Any]]) -> bool:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        folder = self.tables.read(relation)
        if local_path(folder) is None:
            return False
        try:
            table = DeltaTable(folder)
        except (DeltaError, OSError):
            return False  # a build says what is wrong with it
        # The next change to read is of a later version than the newest one.
        id_, version = str(table.metadata().id), table.version()
        return any(
            each.get("reservoirId") == id_ and each.get("reservoirVersion", 0) > version for each in offsets
        )

    def reached(self) -> str:
        """Try to write to the nearest existing folder; storage elsewhere is reached by Spark alone."""
        if (own := local_path(self.folder)) is None:
            return f"{self.folder}: known when a command starts Spark"
        folder = next(path for path in (own, *own.parents) if path.exists())
        try:
            with tempfile.TemporaryFile(dir=folder):
                return self.folder
        except OSError as error:
            message = f"the tables' folder {self.folder} can't be written: {os_reason(error)}"
            remedy = "make it writable, or set another path under `tables:`"
            raise MillstreamError(Diagnostic("MS847", message, None, remedy)) from None

    def outside(self, own: Path) -> str | None:
        return self.folder if is_outside(self.folder, own) else None


def locate(target: Target, root: Path) -> LocalDelta:
    return LocalDelta(delta_folder(target, root))
