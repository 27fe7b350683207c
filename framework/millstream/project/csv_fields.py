"""Reads CSV files as records with the span of every field; Python's reader only knows lines."""

from __future__ import annotations

import csv
import re

from msgspec import Struct

from millstream.core.errors import Diagnostic, diagnostic_at
from millstream.core.text import Text
from millstream.project.files import LARGEST

Span = tuple[int, int]


class Record(Struct, frozen=True):
    """The fields of one record, and the line that it begins on."""

    line: int
    fields: list[str]


def read_records(text: Text, delimiter: str, diagnostics: list[Diagnostic]) -> list[Record]:
    """Read all valid records; blank lines are skipped."""
    # A setting of the whole process, 128 KB by default; file sizes were checked before.
    csv.field_size_limit(LARGEST)
    # Not `splitlines`, which treats more characters as line ends than editors do.
    lines = text.content.removesuffix("\n").split("\n") if text.content else []
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    records: list[Record] = []
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
            records.append(Record(line, fields))


def spans(text: Text, line: int, delimiter: str) -> list[Span]:
    """Return the spans of the fields of the record that begins on a line, including quotes."""
    return _scan(text.content, text.offset(line, 1), delimiter).fields


class _Scan(Struct, frozen=True):
    """The spans of fields, the offset of the quote that breaks the record, and whether it opens a field."""

    fields: list[Span]
    broken: int | None = None
    unclosed: bool = False


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


def _broken(text: Text, line: int, delimiter: str) -> Diagnostic:
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
