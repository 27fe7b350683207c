"""Folders of files as sources: their keys in YAML, and the columns of their rows."""

from __future__ import annotations

from itertools import takewhile
from pathlib import PurePath
from typing import Annotated, Any, Literal

from msgspec.structs import replace

from millstream.core.types import BINARY, SMALLINT, STRING, TIMESTAMP, TINYINT, types_within
from millstream.formats.options import wrong_options
from millstream.project.columns import ColumnReader
from millstream.project.folders import local_path
from millstream.project.s3 import S3
from millstream.project.shapes import Duration, OnBadRecord, Positive, describe_key
from millstream.project.values import RowSource
from millstream.sources.declaration import Declaration, GivenColumn
from millstream.sources.rows import RowShape, row_reader

FileFormat = Literal["parquet", "avro", "json", "csv", "text"]

ENCODINGS = {"json": "json", "csv": "csv", "text": "string"}
"""The formats whose lines are decoded, with the format that decodes the values of topics alike."""


class FilesShape(RowShape, kw_only=True):
    path: Annotated[
        str,
        describe_key(
            "a folder, or files by a pattern: data/orders/*.json, relative to the project; or s3a://…"
        ),
    ]
    format: Annotated[
        FileFormat, describe_key("parquet or avro; or json, csv or text, where each line of a file is a row")
    ]
    format_options: Annotated[
        dict[str, str | bool],
        describe_key("options of the format: csv has delimiter, quote, escape and header"),
    ] = {}
    on_bad_record: Annotated[
        OnBadRecord | None, describe_key("what happens to a line that can't be decoded")
    ] = None
    max_files: Annotated[Positive | None, describe_key("read at most this many files in a batch")] = None
    clean_up: Annotated[
        Literal["delete", "archive"] | None,
        describe_key("what happens to a file once all queries of the project have read it"),
    ] = None
    archive_path: Annotated[
        str | None, describe_key("the folder of archived files, relative to the project")
    ] = None
    clean_up_after: Annotated[
        Duration | None, describe_key("how old a file has to be for that: 7 days; by default, of any age")
    ] = None


_CLEAN_UP = ("clean_up", "archive_path", "clean_up_after")
_read_rows = row_reader(
    "files", "path", "format", "format_options", options=("on_bad_record", "max_files", *_CLEAN_UP)
)


def _read(reader: ColumnReader, source: Any, shape: FilesShape) -> RowSource:
    return replace(_read_rows(reader, source, shape), removes_read=shape.clean_up is not None)


def _files(reader: ColumnReader, source: Any, shape: FilesShape) -> RowSource:
    _check_path(reader, shape, "path", shape.path)
    _check_clean_up(reader, shape)
    of_format = _files_of_lines if shape.format in ENCODINGS else _files_of_columns
    jars = (*(["avro"] if shape.format == "avro" else ()), *(["s3"] if shape.path.startswith(S3) else ()))
    return replace(of_format(reader, source, shape), jars=jars)


def _files_of_lines(reader: ColumnReader, source: Any, shape: FilesShape) -> RowSource:
    columns = [column for column in shape.columns if column.from_ is None]
    for error in wrong_options(ENCODINGS[shape.format], shape.format_options):
        reader.report_at(reader.location(shape, "format_options"), error.code, error.message, error.help)
    files = _read(reader, source, shape)
    if shape.format == "text" and (
        len(columns) != 1 or any(c.type not in {STRING, BINARY, None} for c in files.columns[:1])
    ):
        message = f"a line of a text is one column, and files '{shape.name}' have {len(columns)}"
        if len(columns) == 1:
            message = f"column '{columns[0].name}' is a line of a text"
        remedy = "write columns: [{name: line, type: string}]; compute others, `from: …`"
        reader.report_at(reader.location(shape, "columns"), "MS107", message, remedy)
    return files


def _files_of_columns(reader: ColumnReader, source: Any, shape: FilesShape) -> RowSource:
    for key in ("format_options", "on_bad_record"):
        if getattr(shape, key):
            message = f"'{key}' is for files of lines, and the format is {shape.format}"
            reader.report_at(reader.location(shape, key), "MS107", message, "remove it")
    files = _read(reader, source, shape)
    for column in files.columns if shape.format == "avro" else ():
        types = () if column.type is None or column.expression is not None else types_within(column.type)
        small = [type_ for type_ in types if type_ in {TINYINT, SMALLINT}]
        if small:
            message = f"Avro has no {small[0]}: a value of '{column.name}' might not fit"
            reader.report_at(column.location, "MS107", message, "declare int, and cast it in a model")
    return files


def _check_clean_up(reader: ColumnReader, shape: FilesShape) -> None:
    if shape.clean_up is not None and S3 in (shape.path[: len(S3)], (shape.archive_path or "")[: len(S3)]):
        message = "files in S3 are not deleted or archived"
        remedy = "remove `clean_up`; a lifecycle rule of the bucket can delete them when they are old"
        reader.report_at(reader.location(shape, "clean_up"), "MS107", message, remedy)
        return
    if shape.clean_up != "archive" and shape.archive_path is not None:
        message = "'archive_path' is for files that are archived"
        remedy = "add clean_up: archive, or remove it"
        reader.report_at(reader.location(shape, "archive_path"), "MS107", message, remedy)
    if shape.clean_up is None and shape.clean_up_after is not None:
        message = "'clean_up_after' is for files that are deleted or archived"
        remedy = "add clean_up: delete, or remove it"
        reader.report_at(reader.location(shape, "clean_up_after"), "MS107", message, remedy)
    if shape.clean_up == "archive":
        _check_archive(reader, shape)


def _check_archive(reader: ColumnReader, shape: FilesShape) -> None:
    if shape.archive_path is None:
        message = f"the files of '{shape.name}' have no archive"
        remedy = "name the folder to which they are moved: archive_path: data/read"
        reader.report_at(reader.location(shape, "clean_up"), "MS107", message, remedy)
        return
    _check_path(reader, shape, "archive_path", shape.archive_path)
    archive, folder = PurePath(shape.archive_path), PurePath(shape.path)
    if set(shape.archive_path) & set("*?"):
        message = f"'{shape.archive_path}' is not a folder"
        reader.report_at(reader.location(shape, "archive_path"), "MS107", message, "name one without * and ?")
    elif archive.is_relative_to(PurePath(*_fixed_parts(folder))):
        message = f"archived files would be read again: '{shape.archive_path}' is in '{shape.path}'"
        remedy = "name a folder outside of the path"
        reader.report_at(reader.location(shape, "archive_path"), "MS107", message, remedy)


def _fixed_parts(path: PurePath) -> list[str]:
    """Return the parts of a path before the first one with a pattern."""
    return [*takewhile(lambda part: not set(part) & set("*?"), path.parts)]


def _check_path(reader: ColumnReader, shape: FilesShape, key: str, path: str) -> None:
    location = reader.location(shape, key)
    if local_path(path) is None and not path.startswith(S3):
        message = f"'{path}' is not on this machine, nor in S3: s3a://bucket/folder"
        remedy = "name a folder that each machine of the cluster has at this path, or an address in S3"
        reader.report_at(location, "MS107", message, remedy)
    elif not path.strip() or "**" in path or set(path) & set("[]{}\\"):
        message = f"'{path}' is not a folder or a pattern"
        remedy = (
            "in names, use * for any characters, and ? for one; a folder has the files of those within it"
        )
        reader.report_at(location, "MS107", message, remedy)


DECLARATION = Declaration(
    title="folder of files",
    key="files",
    shape=FilesShape,
    read=_files,
    metadata=(
        GivenColumn("_file", STRING, description="The address of the row's file: file:/data/orders/1.csv."),
        GivenColumn("_modified", TIMESTAMP, description="When the file was written."),
    ),
    time="_modified",
    unit="files",
)
