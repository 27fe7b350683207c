"""Reads the rows of tests: mappings, CSV text, or a CSV file. Each value is checked against its column."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from millstream.core.errors import Diagnostic, did_you_mean
from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.project.unsaved import read_text
from millstream.project.values import UnitTest
from millstream.testing.units.convert import (
    WrongValueError,
    convert_text,
    convert_value,
    to_bytes,
    to_timestamp,
)
from millstream.testing.units.files import NodePath, YamlFiles
from millstream.testing.units.relations import UnitRelation
from millstream.testing.units.values import DELETED, HEADERS, ExpectedRow, GivenRow

Row = TypeVar("Row", GivenRow, ExpectedRow)
FIXTURES = "tests/fixtures"


def fixture_file(root: Path, name: str) -> Path | None:
    """Return a CSV file of rows, in the folder of fixtures or elsewhere in the project."""
    for folder in (FIXTURES, "."):
        file = root / folder / f"{name.removesuffix('.csv')}.csv"
        if file.is_file() and file.resolve().is_relative_to(root.resolve()):
            return file
    return None


class RowReader:
    """Reads the rows of one unit test, and collects problems."""

    def __init__(self, files: YamlFiles, unit: UnitTest, zone: ZoneInfo) -> None:
        self.files = files
        self.unit = unit
        self.zone = zone
        self.diagnostics: list[Diagnostic] = []
        self._unknown: set[tuple[NodeId, str]] = set()
        """Columns that relations do not have, each reported at its first row."""

    def report(self, path: NodePath, code: str, message: str, remedy: str, *, key: bool = False) -> None:
        self.diagnostics.append(self.files.diagnostic(self.unit, path, code, message, remedy, key=key))

    def given_rows(self, body: Any, relation: UnitRelation, path: NodePath) -> tuple[GivenRow, ...]:
        return self._rows(body, path, relation, self._given_row)

    def expected(self, body: Any, relation: UnitRelation, path: NodePath) -> tuple[ExpectedRow, ...]:
        return self._rows(body, path, relation, self._expected)

    # -- lists of rows

    def _rows(
        self, body: Any, path: NodePath, relation: UnitRelation, read: Callable[..., Row | None]
    ) -> tuple[Row, ...]:
        rows = [read(values, where, relation, texts) for values, where, texts in self._row_bodies(body, path)]
        return tuple(row for row in rows if row is not None)

    def _row_bodies(self, body: Any, path: NodePath) -> Iterator[tuple[Mapping[str, Any], NodePath, bool]]:
        """Yield each row with its path, and whether its values are CSV texts."""
        if isinstance(body, Mapping):
            if fixture := body.get("fixture"):
                yield from self._csv_file(str(fixture), (*path, "fixture"))
                return
            if "rows" not in body:
                self.report(path, "MS655", "rows are missing", "add `rows:`, or `rows: []` for no rows")
                return
            body, path = body["rows"], (*path, "rows")
        if isinstance(body, str):
            yield from self._csv(body, path)
        elif isinstance(body, list):
            for index, row in enumerate(body):
                if isinstance(row, Mapping):
                    yield row, (*path, index), False
                else:
                    self.report((*path, index), "MS655", "a row must be a mapping", "write {column: value}")
        elif body is not None:
            message = "rows must be a list of mappings, or CSV"
            self.report(path, "MS655", message, "write [{column: value}]")

    def _csv_file(self, name: str, path: NodePath) -> Iterator[tuple[Mapping[str, Any], NodePath, bool]]:
        if (file := fixture_file(self.files.root, name)) is not None:
            yield from self._csv(read_text(file).removeprefix("\ufeff"), path)
            return
        existing = sorted(fixture_path.stem for fixture_path in Path(self.files.root, FIXTURES).glob("*.csv"))
        remedy = did_you_mean(name, existing, f"create {FIXTURES}/{name.removesuffix('.csv')}.csv")
        self.report(path, "MS655", f"there is no CSV file '{name}'", remedy)

    def _csv(self, text: str, path: NodePath) -> Iterator[tuple[Mapping[str, Any], NodePath, bool]]:
        try:
            rows = [row for row in csv.reader(text.strip().splitlines(), strict=True) if row]
        except csv.Error as error:
            self.report(path, "MS655", f"invalid CSV: {error}", "fix the CSV")
            return
        if not rows:
            self.report(path, "MS655", "the CSV has no header", "start with a line of column names")
            return
        header = [name.strip() for name in rows[0]]
        for number, row in enumerate(rows[1:], start=1):
            if len(row) != len(header):
                message = f"row {number} has {len(row)} fields, but the header has {len(header)} columns"
                self.report(path, "MS655", message, "write a field for each column")
                continue
            yield {n: v.strip() or None for n, v in zip(header, row, strict=True)}, path, True

    # -- single rows

    def _given_row(
        self, row: Mapping[str, Any], path: NodePath, relation: UnitRelation, texts: bool
    ) -> GivenRow | None:
        values, metadata, good = {}, {}, True
        for name, value in row.items():
            if name in relation.metadata:
                converted = self._metadata(name, value, (*path, name), relation, texts=texts)
                good, metadata[name] = good and converted is not _WRONG, converted
                continue
            # An encoder knows best what a field is that a struct in a record lacks.
            column, converted = self._value(name, value, path, relation, texts=texts, partial=True)
            good = good and converted is not _WRONG
            values[column] = converted
        return GivenRow(values, metadata) if good else None

    def _expected(
        self, row: Mapping[str, Any], path: NodePath, relation: UnitRelation, texts: bool
    ) -> ExpectedRow | None:
        values, cells, good = {}, {}, True
        for name, value in row.items():
            cells[relation.column(str(name)) or str(name)] = self._location((*path, name))
            if name == DELETED and DELETED in relation.metadata:
                values[DELETED] = value if isinstance(value, bool) else str(value).lower() == "true"
                continue
            if name in relation.sent:
                values[HEADERS] = self._expected_headers(value, (*path, name))
                good = good and values[HEADERS] is not _WRONG
                continue
            column, converted = self._value(name, value, path, relation, texts=texts)
            good = good and converted is not _WRONG
            values[column] = converted
        if not row:
            self.report(path, "MS655", "this row names no column", "write {column: value}")
        return ExpectedRow(values, self._location(path), {} if texts else cells) if good and row else None

    def _expected_headers(self, value: Any, path: NodePath) -> Any:
        if isinstance(value, Mapping):
            return {str(name): None if text is None else str(text) for name, text in value.items()}
        self.report(path, "MS651", f"'{HEADERS}' can't be {value!r}", "write {name: value}")
        return _WRONG

    def _location(self, path: NodePath) -> Location:
        return self.files.location(self.unit, path)

    def _column(self, name: str, path: NodePath, relation: UnitRelation) -> str | None:
        column = relation.column(name)
        if column is not None:
            return column
        if (relation.id, name) in self._unknown:
            return None
        self._unknown.add((relation.id, name))
        shown = relation.id.name
        derived = {derived_column.lower(): inputs for derived_column, inputs in relation.derived.items()}
        if (inputs := derived.get(name.lower())) is not None:
            message = f"'{name}' of {shown} is computed when a record is decoded"
            remedy = f"give the columns it depends on: {inputs}" if inputs else "leave it out"
        else:
            message = f"{shown} has no column '{name}'"
            columns = [*relation.columns, *relation.metadata, *relation.sent]
            remedy = did_you_mean(name, columns, f"columns: {', '.join(columns[:8])}")
        self.report((*path, name), "MS650", message, remedy, key=True)
        return None

    def _value(
        self,
        name: str,
        value: Any,
        path: NodePath,
        relation: UnitRelation,
        *,
        texts: bool,
        partial: bool = False,
    ) -> tuple[str, Any]:
        """Return the name of the column as the relation spells it, and its value."""
        column = self._column(str(name), path, relation)
        if column is None:
            return name, _WRONG
        type_ = relation.columns[column]
        try:
            if texts and value is not None:
                return column, convert_text(value, type_, self.zone)
            return column, convert_value(value, type_, self.zone, partial=partial)
        except WrongValueError as error:
            self.report((*path, name, *error.path), "MS651", f"column '{column}': {error}", error.remedy)
            return column, _WRONG

    def _metadata(self, name: str, value: Any, path: NodePath, relation: UnitRelation, *, texts: bool) -> Any:
        try:
            match name:
                case "_timestamp":
                    return to_timestamp(value, self.zone)
                case "_key" | "_value":
                    return None if value is None else to_bytes(_text(value))
                case "_topic":
                    return self._topic(value, path, relation)
                case "_partition":
                    return int(value)
                case "_headers" if isinstance(value, Mapping):
                    return [{"key": key, "value": to_bytes(_text(text))} for key, text in value.items()]
                case _ if name == DELETED and (isinstance(value, bool) or texts):
                    return str(value).lower() == "true"
        except (WrongValueError, ValueError, TypeError) as error:
            self.report(path, "MS651", f"'{name}': {error}", getattr(error, "remedy", "write a valid value"))
            return _WRONG
        remedy = "write true or false" if name == DELETED else "write {name: value}"
        self.report(path, "MS651", f"'{name}' can't be {value!r}", remedy)
        return _WRONG

    def _topic(self, value: Any, path: NodePath, relation: UnitRelation) -> Any:
        if relation.pattern and re.fullmatch(relation.pattern, str(value)):
            return value
        if relation.pattern:
            remedy = f"write a name that matches {relation.pattern}"
            self.report(path, "MS651", f"'{value}' is not a topic of {relation.id.name}", remedy)
            return _WRONG
        if value in relation.topics:
            return value
        remedy = did_you_mean(str(value), relation.topics, f"its topics: {', '.join(relation.topics)}")
        self.report(path, "MS651", f"'{value}' is not a topic of {relation.id.name}", remedy)
        return _WRONG


_WRONG: Any = object()
"""Stands for an invalid value, which has been reported."""


def _text(value: Any) -> Any:
    return value if isinstance(value, str | bytes | Mapping) else str(value)
