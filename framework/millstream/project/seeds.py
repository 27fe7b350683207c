"""Seeds: CSV files with types that are declared in YAML or inferred from the values."""

from __future__ import annotations

from millstream.core.errors import Diagnostic, Note, diagnostic_at, did_you_mean
from millstream.core.text import Location, Text
from millstream.core.types import STRING
from millstream.project.csv_fields import Record, Span, read_records, spans
from millstream.project.files import File
from millstream.project.properties import SeedProperties
from millstream.project.references import IDENTIFIER
from millstream.project.seed_types import check_of, infer_type
from millstream.project.values import Column, Seed

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
        self.text = Text(file.path, file.content)
        self.properties = properties
        self.diagnostics: list[Diagnostic] = []
        self.delimiter = self._delimiter()
        self.records: list[Record] = []
        self.header_spans: list[Span] = []

    def report(
        self, start: int, stop: int, message: str, remedy: str, *notes: Note, code: str = "MS118"
    ) -> None:
        self.diagnostics.append(diagnostic_at(self.text, start, stop, code, message, remedy, *notes))

    def report_declaration(self, location: Location, code: str, message: str, remedy: str) -> None:
        self.diagnostics.append(Diagnostic(code, message, location, remedy))

    def seed(self) -> Seed:
        lines = read_records(self.text, self.delimiter, self.diagnostics)
        broken = [d.location.line for d in self.diagnostics if d.code == "MS118" and d.location]
        if not lines or (broken and min(broken) < lines[0].line):
            lines = [Record(1, [])]  # without a header, the rows have no meaning
        header, *records = lines
        self.header_spans = spans(self.text, header.line, self.delimiter) if header.fields else []
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

    def _check_header(self, header: Record) -> None:
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
                note = Note("first defined here", self.text.location(*field_spans[first]))
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

    def _is_complete(self, record: Record, width: int) -> bool:
        count = len(record.fields)
        if count == width:
            return True
        field_spans = spans(self.text, record.line, self.delimiter)
        message = f"the line has {count} field{'s' if count > 1 else ''}, the header {width}"
        if count > width:
            start, remedy = field_spans[width][0], "quote fields that contain commas"
        else:
            start, remedy = field_spans[0][0], "add the missing fields; an empty field is NULL"
        self.report(start, field_spans[-1][1], message, remedy)
        return False

    def _column(self, index: int, name: str) -> Column:
        declared = next((c for c in self.properties.columns if c.name.lower() == name.lower()), None)
        values = [record.fields[index] for record in self.records]
        nullable = not all(values) or not values
        if declared is None:
            return Column(name, self.text.location(*self.header_spans[index]), infer_type(values), nullable)
        self._check(index, declared, values)
        return Column(
            name,
            declared.location,
            declared.type or infer_type(values),
            nullable and declared.nullable,
            declared.description,
            tests=declared.tests,
            tags=declared.tags,
            meta=declared.meta,
        )

    def _check(self, index: int, column: Column, values: list[str]) -> None:
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
            start, stop = spans(self.text, self.records[row].line, self.delimiter)[index]
            value = values[row]
            message = f"'{value}' is not a valid {column.type}" if value else f"'{column.name}' is NULL"
            remedy = f"fix the value, or the type of column '{column.name}'"
            if not value:
                remedy = f"add a value, or remove nullable: false from column '{column.name}'"
            if number == _SHOWN < len(wrong):
                remedy += f"; {len(wrong) - _SHOWN} more values of the column are wrong"
            self.report(start, max(stop, start + 1), message, remedy)
