r"""Lines of comma-separated values, as in Spark: `\` escapes, an empty field is NULL, `""` is empty."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from millstream.expressions import Piece, joined
from millstream.formats import Encoding
from millstream.formats.format import Decoded, Fields, Format, Item, LocalCodec, SparkCodec
from millstream.formats.sql import BAD, TIMES, column_list, parser_call
from millstream.formats.sql import row as row_sql
from millstream.formats.values import UnfitError, encoded, row, text_of, utf8, value_of

_SPACES = "'ignoreLeadingWhiteSpace', 'false', 'ignoreTrailingWhiteSpace', 'false'"
_QUOTED = re.compile(r'[,"\n\r\\]|^\s|\s$|^$')
_FIELD = re.compile(r'(?:"((?:\\.|[^"\\])*)"|([^,]*))(,|\Z)', re.DOTALL)
_SPARK = {"Infinity": "Inf", "-Infinity": "-Inf"}


def _decode_sql(fields: Fields) -> Decoded:
    if not fields:
        return Decoded()
    rows = parser_call(
        "from_csv",
        fields,
        f"map({_SPACES}, 'columnNameOfCorruptRecord', '{BAD}')",
    )
    return Decoded(rows=rows, why=f"not a CSV line of {column_list(fields)}")


def _encode_sql(items: Sequence[Item]) -> tuple[Piece, ...]:
    return joined(("to_csv(", *row_sql(items), f", map({_SPACES}, {TIMES}))"))


def _encode(value: Any, fields: Fields) -> bytes:
    if isinstance(value, str):
        return encoded(value)
    return encoded(",".join("" if each is None else _written(each) for each in row(value, fields)))


def _written(value: Any) -> str:
    text = text_of(value)
    if isinstance(value, float):
        return _SPARK.get(text, text)
    if not _QUOTED.search(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _decode(value: bytes, fields: Fields) -> Any:
    found = _read(utf8(value))
    if len(found) != len(fields):
        raise UnfitError(f"expected a CSV line with {len(fields)} fields, found {len(found)}")
    return {
        field.name: None if text is None else value_of(text, field.type)
        for field, text in zip(fields, found, strict=True)
    }


def _read(line: str) -> list[str | None]:
    found: list[str | None] = []
    position = 0
    while True:
        match = _FIELD.match(line, position)
        if match is None:
            raise UnfitError(f"not a CSV line: misplaced quote in field {len(found) + 1}")
        found.append(re.sub(r'\\(["\\])', r"\1", match[1]) if match[1] is not None else (match[2] or None))
        if not match[3]:
            return found
        position = match.end()


_FORMAT = Format(
    media_type="text/csv",
    spark=SparkCodec(_decode_sql, _encode_sql),
    local=LocalCodec(_decode, _encode),
    by_position=True,
)


def format_of(encoding: Encoding) -> Format:  # noqa: ARG001 - has no variants
    return _FORMAT
