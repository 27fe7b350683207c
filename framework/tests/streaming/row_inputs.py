"""The sources of a project as files or tables instead of topics, with the same rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from streaming.query_runner import Record
from streaming.records import value_of
from streaming.shapes import EPOCH, Source
from streaming.texts import TYPES

_ARROW = {"s": pa.string(), "i": pa.int64(), "t": pa.timestamp("us", "UTC")}


class RowInputs:
    """A way to keep the rows of sources; it writes them as another program does."""

    key: str
    """The key of a source in YAML."""
    keyed = True
    """Its rows can change, so that it can be what a reference topic is."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.target: dict[str, Any] = {}
        """What a target needs for them."""

    def takes(self, source: Source) -> bool:
        return self.keyed or not source.table

    def declared(self, source: Source) -> dict[str, Any]:
        key = {"key": source.key} if source.table else {}
        return {
            "name": source.name,
            "columns": [{"name": n, "type": TYPES[kind]} for n, kind in source.columns.items()],
            **key,
            **self.settings(source),
        }

    def settings(self, source: Source) -> dict[str, Any]:
        raise NotImplementedError

    def create(self, source: Source) -> None:
        raise NotImplementedError

    def write(self, source: Source, records: Sequence[Record]) -> None:
        raise NotImplementedError

    def table(self, source: Source, records: Sequence[Record]) -> pa.Table:
        """Return the rows of records, or the newest of each key; those that are no JSON are in no table."""
        rows = [row for row in (value_of(source, record) for record in records) if row is not None]
        if source.table:
            rows = [*_newest(source, records)]
        rows = [
            {n: _time(value) if source.columns[n] == "t" else value for n, value in row.items()}
            for row in rows
        ]
        schema = pa.schema([(name, _ARROW[kind]) for name, kind in source.columns.items()])
        return pa.Table.from_pylist(rows, schema=schema)


def _newest(source: Source, records: Sequence[Record]):
    last = {record.key: record for record in records}
    return (value_of(source, record) for record in last.values() if record.value is not None)


def _time(micros: int | None):
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


class FileInputs(RowInputs):
    """A file of lines for each write, some of which are no JSON."""

    key, keyed = "files", False

    def settings(self, source: Source) -> dict[str, Any]:
        return {"path": f"lake/{source.name}", "format": "json", "on_bad_record": "skip"}

    def create(self, source: Source) -> None:
        (self.root / "lake" / source.name).mkdir(parents=True)

    def write(self, source: Source, records: Sequence[Record]) -> None:
        folder = self.root / "lake" / source.name
        hidden = folder / f".{sum(1 for _ in folder.iterdir())}.json"
        hidden.write_bytes(b"\n".join(_line(source, record) for record in records))
        hidden.rename(folder / hidden.name[1:])


def _line(source: Source, record: Record) -> bytes:
    assert record.value is not None
    if record.key == b"bad":
        return record.value
    key = None if record.key is None else record.key.decode()
    return json.dumps({source.key: key, **json.loads(record.value)}).encode()


class DeltaInputs(RowInputs):
    key = "delta_tables"

    def settings(self, source: Source) -> dict[str, Any]:
        return {"path": f"lake/{source.name}"}

    def create(self, source: Source) -> None:
        self.write(source, [])

    def write(self, source: Source, records: Sequence[Record]) -> None:
        feed = {"delta.enableChangeDataFeed": "true"} if source.table else None
        folder = str(self.root / "lake" / source.name)
        write_deltalake(folder, self.table(source, records), mode="append", configuration=feed)


class IcebergInputs(RowInputs):
    key = "iceberg_tables"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.catalog = {"uri": f"sqlite:///{root}/catalog.db", "warehouse": f"file://{root}/lake"}
        self.target = {"catalogs": {"lake": {"type": "sql", **self.catalog}}}

    def settings(self, source: Source) -> dict[str, Any]:
        return {"catalog": "lake", "table": f"shop.{source.name}"}

    def create(self, source: Source) -> None:
        self._catalog.create_namespace_if_not_exists("shop")
        self._catalog.create_table(f"shop.{source.name}", self.table(source, []).schema)

    def write(self, source: Source, records: Sequence[Record]) -> None:
        self._catalog.load_table(f"shop.{source.name}").append(self.table(source, records))

    @property
    def _catalog(self) -> SqlCatalog:
        return SqlCatalog("lake", **self.catalog)


KINDS: dict[str, type[RowInputs]] = {"files": FileInputs, "delta": DeltaInputs, "iceberg": IcebergInputs}
