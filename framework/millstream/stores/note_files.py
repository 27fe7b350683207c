"""The notes of maintained tables, as files in the folder of a table (see `stores.spark.SparkTables.note`)."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.stores.hadoop_files import files_of


def read_note_file(session: SparkSession, folder: str, number: int) -> bytes | None:
    return files_of(folder, session).read(_note(folder, number))


def write_note_file(session: SparkSession, folder: str, number: int, content: bytes) -> None:
    """Write a note, which counts as soon as a transaction of its number is committed."""
    files = files_of(folder, session)
    files.write(_note(folder, number), content)
    files.remove(_note(folder, number - 2))


def _note(folder: str, number: int) -> str:
    return f"{folder}/_millstream_maintained_{number}.json"
