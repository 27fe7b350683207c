"""Seeds: CSV files with types that are declared in YAML or inferred from the values."""

from __future__ import annotations

import csv
import datetime as dt
import math
import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from millstream.core.errors import Diagnostic, DiagnosticNote, diagnostic_at, did_you_mean
from millstream.core.text import FileText, Location
from millstream.core.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    UNKNOWN,
    Decimal,
    Type,
)
from millstream.project.files import LARGEST, File
from millstream.project.properties import SeedProperties
from millstream.project.references import IDENTIFIER
from millstream.project.values import DeclaredColumn, Seed

_BITS = {TINYINT: 8, SMALLINT: 16, INT: 32, BIGINT: 64}
_INTEGER = re.compile(r"[+-]?\d{1,40}\Z", re.ASCII)
_PLAIN_WHOLE = re.compile(r"-?(0|[1-9]\d{0,18})\Z", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?\Z", re.ASCII)
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)?(\.\d+)?([eE][+-]?\d{1,3})?\Z", re.ASCII)
_SPECIAL = re.compile(r"[+-]?(nan|inf|infinity)\Z", re.IGNORECASE)
_FIXED = re.compile(r"[+-]?0*(\d*)\.?(\d*?)0*\Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d(?::?\d\d)?))?)?\Z",
    re.ASCII,
)


def infer_type(values: Iterable[str]) -> Type:
    """Return the narrowest type of all values; a value with a leading zero is not a number."""
    present = [value for value in values if value]
    for candidate, fits in _INFERRED:
        if present and all(map(fits, present)):
            return candidate
    return STRING


def check_of(type_: Type) -> Callable[[str], bool] | None:
    """Return a function that checks whether a value has a type; None if a CSV file can't contain the type."""
    if type_ in _BITS:
        least = -(2 ** (_BITS[type_] - 1))
        return lambda value: bool(_INTEGER.match(value)) and least <= int(value) < -least
    if isinstance(type_, Decimal):
        return lambda value: _is_decimal(value, type_)
    return _READERS.get(type_)


def _is_boolean(value: str) -> bool:
    return value.lower() in {"true", "false"}


def _is_plain_whole(value: str) -> bool:
    return bool(_PLAIN_WHOLE.match(value)) and -(2**63) <= int(value) < 2**63


def _is_plain_number(value: str) -> bool:
    if not _PLAIN_NUMBER.match(value) or not any(map(str.isdigit, value)):
        return False
    # An id of twenty digits would lose its last ones, and `1e999` would become infinity.
    return abs(int(value)) <= 2**53 if value.lstrip("-").isdigit() else math.isfinite(float(value))


def _is_number(value: str) -> bool:
    return bool(_NUMBER.match(value) or _SPECIAL.match(value))


def _is_decimal(value: str, type_: Decimal) -> bool:
    number = _FIXED.match(value)
    if not number or not any(map(str.isdigit, value)):
        return False
    return len(number.group(1)) <= type_.precision - type_.scale and len(number.group(2)) <= type_.scale


def _is_date(value: str) -> bool:
    # `fromisoformat` alone is not enough: from Python 3.11 on, it reads 20240131 and 2024-W05.
    if not _DATE.match(value):
        return False
    try:
        dt.date.fromisoformat(value)
    except ValueError:
        return False
    return True


def _is_timestamp(value: str) -> bool:
    parts = _TIMESTAMP.match(value)
    if not parts or not _is_date(parts.group(1)):
        return False
    try:
        dt.time.fromisoformat(parts.group(2) or "00:00")
    except ValueError:
        return False
    return True


_INFERRED = (
    (BOOLEAN, _is_boolean),
    (BIGINT, _is_plain_whole),
    (DOUBLE, _is_plain_number),
    (DATE, _is_date),
    (TIMESTAMP, _is_timestamp),
)
_READERS: dict[Type, Callable[[str], bool]] = {
    BOOLEAN: _is_boolean,
    DOUBLE: _is_number,
    FLOAT: _is_number,
    DATE: _is_date,
    TIMESTAMP: _is_timestamp,
    TIMESTAMP_NTZ: _is_timestamp,
    STRING: lambda _: True,
    BINARY: lambda _: True,
    UNKNOWN: lambda _: True,
}

Span = tuple[int, int]


class CsvRecord(Struct, frozen=True):
    """The fields of one record, and the line that it begins on."""

    line: int
    fields: list[str]


class _Scan(Struct, frozen=True):
    """The spans of fields, the offset of the quote that breaks the record, and whether it opens a field."""

    fields: list[Span]
    broken: int | None = None
    unclosed: bool = False


_SHOWN = 20
"""Further wrong values of a column are only counted."""


def read_seed(file: File, properties: SeedProperties | None) -> tuple[Seed, list[Diagnostic]]:
    """Read a CSV file; an empty field is NULL."""
    reader = _Reader(file, properties or SeedProperties("", Location(file.path, 1, 1, 2)))
    return reader.seed(), reader.diagnostics


class _Reader:
    """Reads one file; errors are collected in `diagnostics`."""

    def __init__(self, file: File, properties: SeedProperties) -> None:
        self.file = file
        self.text = FileText(file.path, file.content)
        self.properties = properties
        self.diagnostics: list[Diagnostic] = []
        self.delimiter = self._delimiter()
        self.records: list[CsvRecord] = []
        self.header_spans: list[Span] = []

    def report(
        self, start: int, stop: int, message: str, remedy: str, *notes: DiagnosticNote, code: str = "MS118"
    ) -> None:
        self.diagnostics.append(diagnostic_at(self.text, start, stop, code, message, remedy, *notes))

    def report_declaration(self, location: Location, code: str, message: str, remedy: str) -> None:
        self.diagnostics.append(Diagnostic(code, message, location, remedy))

    def seed(self) -> Seed:
        lines = read_records(self.text, self.delimiter, self.diagnostics)
        broken = [
            diagnostic.location.line
            for diagnostic in self.diagnostics
            if diagnostic.code == "MS118" and diagnostic.location
        ]
        if not lines or (broken and min(broken) < lines[0].line):
            lines = [CsvRecord(1, [])]  # without a header, the rows have no meaning
        header, *records = lines
        self.header_spans = csv_spans(self.text, header.line, self.delimiter) if header.fields else []
        if not header.fields and not self.diagnostics:
            self.report(0, 1, "the seed is empty", "add a first line with the column names")
        self._check_header(header)
        self.records = [record for record in records if self._is_complete(record, len(header.fields))]
        columns = tuple(self._column(index, name) for index, name in enumerate(header.fields))
        names = {name.lower() for name in header.fields}
        for column in self.properties.columns:
            if column.name.lower() not in names and header.fields:
                message = f"seed '{self.file.stem}' has no column '{column.name}'"
                hint = did_you_mean(column.name, header.fields, f"it has {', '.join(header.fields)}")
                self.report_declaration(column.location, "MS117", message, hint)
        return Seed(
            name=self.file.stem,
            path=self.file.path,
            columns=columns,
            rows=len(self.records),
            location=Location(self.file.path, 1, 1, 2),
            delimiter=self.delimiter,
            description=self.properties.description,
            tags=self.properties.tags,
            tests=self.properties.tests,
            meta=self.properties.meta,
            digest=self.file.digest,
        )

    def _delimiter(self) -> str:
        delimiter = str(self.properties.config.get("delimiter", ","))
        delimiter = "\t" if delimiter == r"\t" else delimiter
        if len(delimiter) == 1 and delimiter not in '"\n\r':
            return delimiter
        message = f"'{delimiter}' can't separate the fields of a CSV file"
        self.report_declaration(
            self.properties.location, "MS107", message, "write delimiter: ';', or another character"
        )
        return ","

    def _check_header(self, header: CsvRecord) -> None:
        field_spans = self.header_spans
        seen: dict[str, int] = {}
        for index, (name, (start, stop)) in enumerate(zip(header.fields, field_spans, strict=False)):
            first = seen.setdefault(name.lower(), index)
            if not IDENTIFIER.match(name):
                message = f"'{name}' can't be the name of a column" if name else "a column has no name"
                remedy = "use letters, digits and '_', not starting with a digit"
                if not name.strip() or name.strip() == name or not IDENTIFIER.match(name.strip()):
                    remedy += self._other_delimiter(name)
                else:
                    remedy = f"remove the spaces: '{name.strip()}'"
                self.report(start, stop, message, remedy, code="MS110")
            elif first != index:
                note = DiagnosticNote("first defined here", self.text.location(*field_spans[first]))
                self.report(start, stop, f"column '{name}' is defined twice", "rename one", note)

    def _other_delimiter(self, name: str) -> str:
        separator = next(
            (character for character in ";\t|," if character in name and character != self.delimiter), ""
        )
        shown = {"\t": r'"\t"'}.get(separator, f"'{separator}'")
        return (
            f"; if {shown} separates the fields, write config: {{delimiter: {shown}}} in YAML"
            if separator
            else ""
        )

    def _is_complete(self, record: CsvRecord, width: int) -> bool:
        count = len(record.fields)
        if count == width:
            return True
        field_spans = csv_spans(self.text, record.line, self.delimiter)
        message = f"the line has {count} field{'s' if count > 1 else ''}, the header {width}"
        if count > width:
            start, remedy = field_spans[width][0], "quote fields that contain commas"
        else:
            start, remedy = field_spans[0][0], "add the missing fields; an empty field is NULL"
        self.report(start, field_spans[-1][1], message, remedy)
        return False

    def _column(self, index: int, name: str) -> DeclaredColumn:
        declared = next((c for c in self.properties.columns if c.name.lower() == name.lower()), None)
        values = [record.fields[index] for record in self.records]
        nullable = not all(values) or not values
        if declared is None:
            return DeclaredColumn(
                name, self.text.location(*self.header_spans[index]), infer_type(values), nullable
            )
        self._check(index, declared, values)
        return DeclaredColumn(
            name,
            declared.location,
            declared.type or infer_type(values),
            nullable and declared.nullable,
            declared.description,
            tests=declared.tests,
            tags=declared.tags,
            meta=declared.meta,
        )

    def _check(self, index: int, column: DeclaredColumn, values: list[str]) -> None:
        fits = check_of(column.type or STRING)
        if fits is None:
            message = f"a CSV file can't contain {column.type}"
            self.report_declaration(
                column.location, "MS107", message, "write type: string, and parse it in a model"
            )
            return
        wrong = [
            row for row, value in enumerate(values) if (not fits(value) if value else not column.nullable)
        ]
        for number, row in enumerate(wrong[:_SHOWN], start=1):
            start, stop = csv_spans(self.text, self.records[row].line, self.delimiter)[index]
            value = values[row]
            message = f"'{value}' is not a valid {column.type}" if value else f"'{column.name}' is NULL"
            remedy = f"fix the value, or the type of column '{column.name}'"
            if not value:
                remedy = f"add a value, or remove nullable: false from column '{column.name}'"
            if number == _SHOWN < len(wrong):
                remedy += f"; {len(wrong) - _SHOWN} more values of the column are wrong"
            self.report(start, max(stop, start + 1), message, remedy)


def read_records(text: FileText, delimiter: str, diagnostics: list[Diagnostic]) -> list[CsvRecord]:
    """Read all valid records; blank lines are skipped."""
    # A setting of the whole process, 128 KB by default; file sizes were checked before.
    csv.field_size_limit(LARGEST)
    # Not `splitlines`, which treats more characters as line ends than editors do.
    lines = text.content.removesuffix("\n").split("\n") if text.content else []
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    records: list[CsvRecord] = []
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return records
        except csv.Error:
            # The reader continues with the next line.
            diagnostics.append(_broken(text, line, delimiter))
            continue
        if fields:
            records.append(CsvRecord(line, fields))


def csv_spans(text: FileText, line: int, delimiter: str) -> list[Span]:
    """Return the spans of the fields of the record that begins on a line, including quotes."""
    return _scan(text.content, text.offset(line, 1), delimiter).fields


def _scan(content: str, start: int, delimiter: str) -> _Scan:
    unquoted = re.compile(rf"[^{re.escape(delimiter)}\n]*")
    fields: list[Span] = []
    while True:
        if content.startswith('"', start):
            stop = start + 1
            while (stop := content.find('"', stop)) >= 0 and content.startswith('""', stop):
                stop += 2
            if stop < 0:
                return _Scan(fields, start, unclosed=True)
            stop += 1
            if stop < len(content) and content[stop] not in {delimiter, "\n"}:
                return _Scan(fields, stop - 1)
        else:
            match = unquoted.match(content, start)
            stop = match.end() if match else start
        fields.append((start, stop))
        if not content.startswith(delimiter, stop):
            return _Scan(fields)
        start = stop + 1


def _broken(text: FileText, line: int, delimiter: str) -> Diagnostic:
    scan = _scan(text.content, text.offset(line, 1), delimiter)
    offset = text.offset(line, 1) if scan.broken is None else scan.broken
    if scan.unclosed:
        return diagnostic_at(
            text, offset, offset + 1, "MS118", "this quote is never closed", 'close it with "'
        )
    message = f"expected a {_name(delimiter)} or the end of the line after a closing quote"
    return diagnostic_at(text, offset, offset + 1, "MS118", message, 'write a quote inside quotes twice: ""')


def _name(delimiter: str) -> str:
    return {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}.get(delimiter, f"'{delimiter}'")
