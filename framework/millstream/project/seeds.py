"""Seeds: CSV files with types that are declared in YAML or told by the values."""

from __future__ import annotations

import csv
import datetime as dt
import re
from decimal import Decimal as Number
from decimal import InvalidOperation

from millstream.errors import Diagnostic, at, did_you_mean
from millstream.project.files import File
from millstream.project.properties import SeedProperties
from millstream.project.values import Column, Seed
from millstream.text import Location, Text
from millstream.types import BIGINT, BOOLEAN, DATE, DOUBLE, FLOAT, INTEGERS, STRING, TIMESTAMP, Decimal, Type

_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})\Z")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)?\.\d+([eE][-+]?\d+)?\Z|-?(0|[1-9]\d*)[eE][-+]?\d+\Z")


def read_seed(file: File, properties: SeedProperties | None) -> tuple[Seed, list[Diagnostic]]:
    """Read a CSV file; an empty field is NULL."""
    text = Text(file.path, file.content)
    diagnostics: list[Diagnostic] = []
    lines, rows = _rows(text, diagnostics)
    header = rows[0] if rows else []
    if not header:
        diagnostics.append(at(text, 0, 1, "MS118", "the seed is empty", "write a line of column names first"))
    _check_header(text, header, diagnostics)
    good = []
    for line, row in zip(lines[1:], rows[1:], strict=True):
        if len(row) != len(header):
            place = text.offset(line, 1)
            message = f"the line has {len(row)} fields, the header {len(header)}"
            diagnostics.append(
                at(
                    text,
                    place,
                    place + len(text.line(line)),
                    "MS118",
                    message,
                    "quote fields that hold commas",
                )
            )
        else:
            good.append((line, row))
    declared = {column.name.lower(): column for column in properties.columns} if properties else {}
    columns = tuple(
        _column(text, index, name, good, declared, diagnostics) for index, name in enumerate(header)
    )
    for column in declared.values():
        if column.name.lower() not in {name.lower() for name in header}:
            hint = did_you_mean(column.name, header, f"it has {', '.join(header)}")
            diagnostics.append(
                Diagnostic(
                    "MS117", f"seed '{file.stem}' has no column '{column.name}'", column.location, hint
                )
            )
    seed = Seed(
        name=file.stem,
        path=file.path,
        columns=columns,
        rows=len(good),
        location=Location(file.path, 1, 1, 2),
        description=properties.description if properties else "",
        tags=properties.tags if properties else (),
        tests=properties.tests if properties else (),
        meta=properties.meta if properties else {},
        digest=file.digest,
    )
    return seed, diagnostics


def _rows(text: Text, diagnostics: list[Diagnostic]) -> tuple[list[int], list[list[str]]]:
    reader = csv.reader(text.content.splitlines(keepends=True), strict=True)
    lines: list[int] = []
    rows: list[list[str]] = []
    line = 1
    try:
        for row in reader:
            if row:
                lines.append(line)
                rows.append(row)
            line = reader.line_num + 1
    except csv.Error as error:
        place = text.offset(line, 1)
        diagnostics.append(
            at(text, place, place + 1, "MS118", str(error), "close every quote, and double quotes inside")
        )
    return lines, rows


def _check_header(text: Text, header: list[str], diagnostics: list[Diagnostic]) -> None:
    position = 0
    seen: set[str] = set()
    for name in header:
        start = text.content.find(name, position) if name else position
        position = start + max(1, len(name))
        if not name.isidentifier():
            diagnostics.append(
                at(
                    text,
                    start,
                    start + max(1, len(name)),
                    "MS110",
                    f"'{name}' can't be the name of a column",
                    "use letters, digits and '_'",
                )
            )
        elif name.lower() in seen:
            diagnostics.append(
                at(text, start, start + len(name), "MS118", f"column '{name}' is given twice", "rename one")
            )
        seen.add(name.lower())


def _column(
    text: Text,
    index: int,
    name: str,
    rows: list[tuple[int, list[str]]],
    declared: dict[str, Column],
    diagnostics: list[Diagnostic],
) -> Column:
    values = [(line, row[index]) for line, row in rows]
    known = declared.get(name.lower())
    wanted = known.type if known else None
    if wanted is not None:
        for line, value in values:
            if value and not _is(value, wanted):
                start = text.offset(line, 1)
                found = text.line(line).find(value)
                start += max(found, 0)
                diagnostics.append(
                    at(
                        text,
                        start,
                        start + len(value),
                        "MS118",
                        f"'{value}' is no {wanted}",
                        f"mend the value, or the type of column '{name}'",
                    )
                )
    nullable = any(not value for _, value in values) or not values
    place = Location(text.path, 1, 1, 2)
    if known:
        return Column(
            name,
            known.location,
            wanted or _inferred([v for _, v in values]),
            nullable,
            known.description,
            tests=known.tests,
            tags=known.tags,
            meta=known.meta,
        )
    return Column(name, place, _inferred([value for _, value in values]), nullable)


def _inferred(values: list[str]) -> Type:
    given = [value for value in values if value]
    for candidate in (BOOLEAN, BIGINT, DOUBLE, DATE, TIMESTAMP):
        if given and all(_is(value, candidate) for value in given):
            return candidate
    return STRING


def _is(value: str, wanted: Type) -> bool:
    if wanted == BOOLEAN:
        return value.lower() in {"true", "false"}
    if wanted in INTEGERS:
        return bool(_INTEGER.match(value))
    if wanted in {DOUBLE, FLOAT}:
        return bool(_INTEGER.match(value) or _NUMBER.match(value))
    if isinstance(wanted, Decimal):
        try:
            return Number(value).is_finite()
        except InvalidOperation:
            return False
    if wanted in {DATE, TIMESTAMP}:
        try:
            return bool(dt.date.fromisoformat(value) if wanted == DATE else dt.datetime.fromisoformat(value))
        except ValueError:
            return False
    return True
