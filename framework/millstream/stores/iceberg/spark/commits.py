"""Commits files to an Iceberg table, with what Millstream records, in one version of its metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from millstream.queries.values import TableOutput
from millstream.stores.iceberg.spark.files import StoredFile
from millstream.stores.iceberg.spark.table import properties_of
from millstream.stores.retention import NewestTime
from millstream.stores.spark import TableBatch

_BATCH, _SWAP, _NEWEST = "millstream.batch.", "millstream.swap", "millstream.newest"
"""Properties of tables. The summaries of snapshots have no such record: snapshots expire."""


def last_batch(table: Any, writer: str) -> int:
    """Return the number of the last batch that a writer has stored; -1 if there is none."""
    return int(properties_of(table).get(f"{_BATCH}{writer}", -1))


def record_of(batch: TableBatch, newest: NewestTime | None) -> dict[str, str]:
    """Return what is recorded with the files of a batch."""
    record = {f"{_BATCH}{batch.writer}": str(batch.number)}
    return record | newest_record(newest)


def newest_record(newest: NewestTime | None) -> dict[str, str]:
    return {} if newest is None else {_NEWEST: msgspec.json.encode(newest).decode()}


def is_swapped(table: Any, swap: str) -> bool:
    return properties_of(table).get(_SWAP) == swap


def swap_record(swap: str) -> dict[str, str]:
    return {_SWAP: swap}


def stored_newest(table: Any, output: TableOutput) -> NewestTime | None:
    """Return the recorded newest time, if it is that of the model's column."""
    if (text := properties_of(table).get(_NEWEST)) is None:
        return None
    newest = msgspec.json.decode(text, type=NewestTime)
    return newest if newest.column.lower() == str(output.options["order_by"]).lower() else None


def records_of(table: Any) -> dict[str, str]:
    """Return the recorded batches of a table, and its newest time."""
    return {n: v for n, v in properties_of(table).items() if n.startswith((_BATCH, _NEWEST))}


def folder_of(*parts: object) -> str:
    """Return the folder of the files of one commit: an attempt to write them again replaces them."""
    return blake2b("\n".join(map(str, parts)).encode(), digest_size=12).hexdigest()


def commit_files(
    table: Any,
    added: Sequence[StoredFile],
    record: Mapping[str, str],
    removed: Sequence[StoredFile] = (),
    summary: Mapping[str, object] | None = None,
) -> None:
    """Add and remove files, and set properties: readers see all of it or nothing."""
    transaction = table.newTransaction()
    stage_files(transaction, added, removed, summary or {})
    stage_record(transaction, record)
    transaction.commitTransaction()


def stage_files(
    transaction: Any,
    added: Sequence[StoredFile],
    removed: Sequence[StoredFile],
    summary: Mapping[str, object],
) -> None:
    if not added and not removed:
        return
    snapshot = transaction.newOverwrite() if removed else transaction.newAppend()
    for file in removed:
        snapshot = snapshot.deleteFile(file.java)
    for file in added:
        snapshot = snapshot.addFile(file.java) if removed else snapshot.appendFile(file.java)
    for name, value in summary.items():
        snapshot = snapshot.set(name, str(value))
    snapshot.commit()


def stage_record(transaction: Any, record: Mapping[str, str]) -> None:
    update = transaction.updateProperties()
    for name, value in record.items():
        update = update.set(name, value)
    update.commit()
