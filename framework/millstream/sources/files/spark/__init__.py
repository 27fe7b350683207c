"""Reads the files of a folder with Spark."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.readwriter import DataFrameReader
from pyspark.sql.streaming.readwriter import DataStreamReader

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.types import Field
from millstream.formats.sql import fields_to_ddl
from millstream.project.s3 import S3
from millstream.project.values import Project, RowSource
from millstream.sources.files.declaration import ENCODINGS
from millstream.sources.files.positions import FilesPosition, ends, folder_of, path_of
from millstream.sources.files.spark.lines import decode_lines, undecodable_lines
from millstream.sources.positions import Range
from millstream.sources.spark import fail_without_values, fields_of

_OF_FILES = "_metadata.file_path as _file", "_metadata.file_modification_time as _modified"
_START = "_metadata.file_block_start as _start"
_NEVER = "36500d"
"""Spark would leave out files that are a week older than another one, also if they are new in the folder."""


class Folder(Struct, frozen=True):
    session: SparkSession
    source: RowSource
    project: Project

    def stream(self) -> DataFrame:
        return self._typed(self._streamed())

    def bad_lines(self) -> DataFrame:
        return undecodable_lines(self._streamed(_START), self.source, self._fields)

    def after(self, position: FilesPosition, /) -> DataFrame:
        addresses = self._addresses(position.files)
        return self._typed(self._streamed().where(~f.col("_file").isin(addresses)))

    def rows(self) -> DataFrame:
        return self._typed(self._batch())

    def between(self, part: Range) -> DataFrame:
        """Return the rows of files that still exist."""
        end, start = part.end, part.start
        assert isinstance(end, FilesPosition)
        files = end.files - start.files if isinstance(start, FilesPosition) else end.files
        return self._typed(self._batch().where(f.col("_file").isin(self._addresses(files))))

    @property
    def _fields(self) -> list[Field]:
        return fields_of(self.source)

    @property
    def _has_lines(self) -> bool:
        return self._format in ENCODINGS

    @property
    def _format(self) -> str:
        return str(self.source.settings["format"])

    @property
    def _path(self) -> str:
        """The path as Hadoop reads it, which sees patterns also in names of folders."""
        folder, pattern = folder_of(self.source, self.project)
        # S3 has no folders besides those that files are in.
        exists = ends(self.source, self.project).files if folder.startswith(S3) else Path(folder).exists()
        if not exists:
            message = f"the folder of source '{self.source.id}' does not exist: {folder}"
            raise MillstreamError(
                Diagnostic("MS699", message, self.source.location, "create it, or change its path")
            )
        escaped = "".join(f"\\{c}" if c in "[]{}\\*?" else c for c in folder)
        return f"{escaped}/{pattern}" if pattern else escaped

    def _streamed(self, *columns: str) -> DataFrame:
        reader = self.session.readStream.option("maxFileAge", _NEVER)
        if limit := self.source.options.get("max_files"):
            reader = reader.option("maxFilesPerTrigger", limit)
        return self._placed(self._load(reader), *columns)

    def _batch(self) -> DataFrame:
        """Return the files of now; Spark refuses to read none."""
        if ends(self.source, self.project).files:
            return self._placed(self._load(self.session.read))
        columns = f"{self._schema}, _file string, _modified timestamp"
        return self.session.createDataFrame([], columns)

    @property
    def _schema(self) -> str:
        return "line binary" if self._has_lines else fields_to_ddl(self._fields)

    def _load(self, reader: DataFrameReader | DataStreamReader) -> DataFrame:
        # Folders such as `day=1` add no columns, and those within are read, too.
        schema = "value string" if self._has_lines else self._schema
        reader = reader.option("recursiveFileLookup", "true").schema(schema)
        return reader.format("text" if self._has_lines else self._format).load(self._path)

    def _placed(self, rows: DataFrame, *columns: str) -> DataFrame:
        """Return rows with the place of each, or lines as bytes; `columns` are more of its place."""
        line = "cast(value as binary) as line" if self._has_lines else "*"
        return rows.selectExpr(line, *_OF_FILES, *columns)

    def _typed(self, rows: DataFrame) -> DataFrame:
        return decode_lines(rows, self.source, self._fields) if self._has_lines else self._checked(rows)

    def _checked(self, rows: DataFrame) -> DataFrame:
        """Return the rows of files with columns; one that a file lacks is an error, not NULL."""
        schema = fields_to_ddl([Field(field.name, field.type) for field in self._fields])
        arguments = f.col("_file"), f.lit(self._format), f.lit(schema)
        checked = rows.where(f.call_function("has_file_columns", *arguments))
        return fail_without_values(checked, self._fields, "'bad file: ', _file")

    def _addresses(self, files: frozenset[str]) -> list[str]:
        """Return the addresses of files that exist, as `_file` has them."""
        if not ends(self.source, self.project).files:
            return []
        addresses = self._load(self.session.read).inputFiles()
        # The two differ only in the slashes of files of this machine.
        return [
            address.replace("file:///", "file:/", 1) for address in addresses if path_of(address) in files
        ]


def connect(session: SparkSession, source: RowSource, project: Project) -> Folder:
    return Folder(session, source, project)
