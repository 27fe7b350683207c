"""Rows as tests write them: mappings, CSV text, or a CSV file; each value is checked against its column."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from millstream.errors import Diagnostic, did_you_mean
from millstream.project.values import UnitTest
from millstream.testing.units.convert import WrongValueError, convert, convert_text, to_bytes, to_timestamp
from millstream.testing.units.files import NodePath, YamlFiles
from millstream.testing.units.relations import Relation
from millstream.testing.units.values import DELETED, ExpectedRow, GivenRow
from millstream.text import Location

Row = TypeVar("Row", GivenRow, ExpectedRow)
FIXTURES = "tests/fixtures"


class RowReader:
    """Reads the rows of one unit test and collects what is wrong with them."""

    def __init__(self, files: YamlFiles, unit: UnitTest, zone: ZoneInfo) -> None:
        self.files = files
        self.unit = unit
        self.zone = zone
        self.problems: list[Diagnostic] = []

    def problem(self, path: NodePath, code: str, message: str, remedy: str, *, key: bool = False) -> None:
        self.problems.append(self.files.problem(self.unit, path, code, message, remedy, key=key))

    def given(self, said: Any, relation: Relation, path: NodePath) -> tuple[GivenRow, ...]:
        return self._rows(said, path, relation, self._given)

    def expected(self, said: Any, relation: Relation, path: NodePath) -> tuple[ExpectedRow, ...]:
        return self._rows(said, path, relation, self._expected)

    # -- how rows are written

    def _rows(
        self, said: Any, path: NodePath, relation: Relation, read: Callable[..., Row | None]
    ) -> tuple[Row, ...]:
        found = [
            made
            for values, where, texts in self._listed(said, path)
            if (made := read(values, where, relation, texts)) is not None
        ]
        return tuple(found)

    def _listed(self, said: Any, path: NodePath) -> Iterator[tuple[Mapping[str, Any], NodePath, bool]]:
        """Yield each row with where it stands, and whether its values are texts of CSV."""
        if isinstance(said, Mapping):
            if fixture := said.get("fixture"):
                yield from self._csv_file(str(fixture), (*path, "fixture"))
                return
            if "rows" not in said:
                self.problem(path, "MS655", "there are no rows", "write rows: [] where there are none")
                return
            said, path = said["rows"], (*path, "rows")
        if isinstance(said, str):
            yield from self._csv(said, path)
        elif isinstance(said, list):
            for index, row in enumerate(said):
                if isinstance(row, Mapping):
                    yield row, (*path, index), False
                else:
                    self.problem((*path, index), "MS655", "a row is a mapping", "write {column: value}")
        elif said is not None:
            self.problem(path, "MS655", "rows are a list of mappings, or CSV", "write [{column: value}]")

    def _csv_file(self, name: str, path: NodePath) -> Iterator[tuple[Mapping[str, Any], NodePath, bool]]:
        file_name = name if name.endswith(".csv") else f"{name}.csv"
        for folder in (FIXTURES, "."):
            file = self.files.root / folder / file_name
            if file.is_file() and file.resolve().is_relative_to(self.files.root.resolve()):
                yield from self._csv(file.read_text(encoding="utf-8-sig"), path)
                return
        there = sorted(each.stem for each in Path(self.files.root, FIXTURES).glob("*.csv"))
        remedy = did_you_mean(name, there, f"put it at {FIXTURES}/{file_name}")
        self.problem(path, "MS655", f"there is no CSV file '{name}'", remedy)

    def _csv(self, text: str, path: NodePath) -> Iterator[tuple[Mapping[str, Any], NodePath, bool]]:
        try:
            rows = [row for row in csv.reader(text.strip().splitlines(), strict=True) if row]
        except csv.Error as error:
            self.problem(path, "MS655", f"this is not CSV: {error}", "fix the CSV")
            return
        if not rows:
            self.problem(path, "MS655", "the CSV has no header", "begin with the names of columns")
            return
        header = [name.strip() for name in rows[0]]
        for number, row in enumerate(rows[1:], start=1):
            if len(row) != len(header):
                said = f"row {number} has {len(row)} fields, and there are {len(header)} columns"
                self.problem(path, "MS655", said, "give each row a field for each column")
                continue
            yield {n: v.strip() or None for n, v in zip(header, row, strict=True)}, path, True

    # -- what rows say

    def _given(
        self, row: Mapping[str, Any], path: NodePath, relation: Relation, texts: bool
    ) -> GivenRow | None:
        values, about, good = {}, {}, True
        for name, value in row.items():
            if name in relation.about:
                found = self._about(name, value, (*path, name), texts=texts)
                good, about[name] = good and found is not _WRONG, found
                continue
            column = self._column(str(name), path, relation)
            found = self._value(value, (*path, name), relation, column, texts=texts) if column else _WRONG
            good = good and found is not _WRONG
            values[column or name] = found
        return GivenRow(values, about, self._place(path)) if good else None

    def _expected(
        self, row: Mapping[str, Any], path: NodePath, relation: Relation, texts: bool
    ) -> ExpectedRow | None:
        values, cells, good = {}, {}, True
        for name, value in row.items():
            cells[relation.column(str(name)) or str(name)] = self._place((*path, name))
            if name == DELETED and DELETED in relation.about:
                values[DELETED] = value if isinstance(value, bool) else str(value).lower() == "true"
                continue
            column = self._column(str(name), path, relation)
            found = self._value(value, (*path, name), relation, column, texts=texts) if column else _WRONG
            good = good and found is not _WRONG
            values[column or name] = found
        if not row:
            self.problem(path, "MS655", "this row names no column", "write {column: value}")
        return ExpectedRow(values, self._place(path), {} if texts else cells) if good and row else None

    def _place(self, path: NodePath) -> Location:
        return self.files.location(self.unit, path)

    def _column(self, name: str, path: NodePath, relation: Relation) -> str | None:
        found = relation.column(name)
        if found is not None:
            return found
        shown = relation.id.partition(".")[2]
        derived = {each.lower(): made for each, made in relation.derived.items()}
        if (made := derived.get(name.lower())) is not None:
            message = f"'{name}' of {shown} is calculated when a record is decoded"
            remedy = f"give what it is made of: {made}" if made else "leave it out"
        else:
            message = f"{shown} has no column '{name}'"
            known = [*relation.columns, *relation.about]
            remedy = did_you_mean(name, known, f"it has {', '.join(known[:8])}")
        self.problem((*path, name), "MS650", message, remedy, key=True)
        return None

    def _value(self, value: Any, path: NodePath, relation: Relation, column: str, *, texts: bool) -> Any:
        wanted = relation.columns[column]
        try:
            if texts and value is not None:
                return convert_text(value, wanted, self.zone)
            return convert(value, wanted, self.zone)
        except WrongValueError as error:
            self.problem((*path, *error.path), "MS651", f"column '{column}': {error}", error.remedy)
            return _WRONG

    def _about(self, name: str, value: Any, path: NodePath, *, texts: bool) -> Any:
        """Read what a row gives of its record besides the columns."""
        try:
            match name:
                case "_timestamp":
                    return to_timestamp(value, self.zone)
                case "_key" | "_value":
                    return None if value is None else to_bytes(_text(value))
                case "_partition":
                    return int(value)
                case "_headers" if isinstance(value, Mapping):
                    return [{"key": key, "value": to_bytes(_text(each))} for key, each in value.items()]
                case _ if name == DELETED and (isinstance(value, bool) or texts):
                    return str(value).lower() == "true"
        except (WrongValueError, ValueError, TypeError) as error:
            self.problem(path, "MS651", f"'{name}': {error}", getattr(error, "remedy", "write a valid value"))
            return _WRONG
        remedy = "write true or false" if name == DELETED else "write {name: value}"
        self.problem(path, "MS651", f"'{name}' can't be {value!r}", remedy)
        return _WRONG


_WRONG: Any = object()
"""Stands for a value that was reported as wrong."""


def _text(value: Any) -> Any:
    return value if isinstance(value, str | bytes | Mapping) else str(value)
