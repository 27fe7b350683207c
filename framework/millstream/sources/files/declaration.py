"""Folders of files as sources: their keys in YAML, and the columns of their rows."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from millstream.core.types import BINARY, STRING, TIMESTAMP
from millstream.formats.options import wrong_options
from millstream.project.columns import ColumnReader
from millstream.project.folders import local_path
from millstream.project.shapes import Positive, describe_key
from millstream.project.values import RowSource
from millstream.sources.declaration import Declaration, GivenColumn
from millstream.sources.rows import RowShape, row_reader

FileFormat = Literal["parquet", "json", "csv", "text"]

ENCODINGS = {"json": "json", "csv": "csv", "text": "string"}
"""The formats whose lines are decoded, with the format that decodes the values of topics alike."""


class FilesShape(RowShape, kw_only=True):
    path: Annotated[
        str, describe_key("a folder, or files by a pattern: data/orders/*.json; relative to the project")
    ]
    format: Annotated[
        FileFormat, describe_key("parquet; or json, csv or text, where each line of a file is a row")
    ]
    format_options: Annotated[
        dict[str, str | bool],
        describe_key("options of the format: csv has delimiter, quote, escape and header"),
    ] = {}
    on_bad_record: Annotated[
        Literal["fail", "skip"] | None, describe_key("what happens to a line that can't be decoded")
    ] = None
    max_files: Annotated[Positive | None, describe_key("read at most this many files in a batch")] = None


_read = row_reader("files", "path", "format", "format_options", options=("on_bad_record", "max_files"))


def _files(reader: ColumnReader, source: Any, shape: FilesShape) -> RowSource:
    _check_path(reader, shape)
    columns = [column for column in shape.columns if column.from_ is None]
    encoding = ENCODINGS.get(shape.format)
    if encoding is None:
        for key in ("format_options", "on_bad_record"):
            if getattr(shape, key):
                message = f"'{key}' is for files of lines, and the format is {shape.format}"
                reader.report_at(reader.location(shape, key), "MS107", message, "remove it")
        return _read(reader, source, shape)
    for error in wrong_options(encoding, shape.format_options):
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


def _check_path(reader: ColumnReader, shape: FilesShape) -> None:
    location = reader.location(shape, "path")
    if local_path(shape.path) is None:
        message = f"'{shape.path}' is not on this machine"
        remedy = "name a folder that each machine of the cluster has at this path"
        reader.report_at(location, "MS107", message, remedy)
    elif not shape.path.strip() or "**" in shape.path or set(shape.path) & set("[]{}\\"):
        message = f"'{shape.path}' is not a folder or a pattern"
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
