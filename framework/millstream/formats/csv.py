r"""Lines of separated values. By default as in Spark: `\` escapes, an empty field is NULL, `""` is empty."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct

from millstream.core.expressions import Piece, join_pieces, sql_literal
from millstream.core.types import INTERVAL, VARIANT
from millstream.formats.format import DecodedSql, Fields, Format, FormatOption, Item, LocalCodec, SparkCodec
from millstream.formats.reasons import add_context, quote_value
from millstream.formats.registry import Encoding
from millstream.formats.sql import BAD, TIMES, column_list, function_call, parser_call, struct_sql
from millstream.formats.text_values import is_read, read_text
from millstream.formats.values import UnfitError, decode_utf8, encode_utf8, row_values, text_of, value_of

_SPACES = "'ignoreLeadingWhiteSpace', 'false', 'ignoreTrailingWhiteSpace', 'false'"
_SPARK = {"Infinity": "Inf", "-Infinity": "-Inf"}
_OPTIONS = {
    "delimiter": FormatOption(",", "the character between two fields", r"[^\r\n]", '";"'),
    "quote": FormatOption('"', "the character around a field that contains a delimiter", r"[^\r\n]", '"\'"'),
    "escape": FormatOption("\\", "the character before a quote within quotes", r"[^\r\n]", "'\\\\'"),
    "header": FormatOption(
        "false", "true: a value is two lines, and the first has the names", "true|false", "true"
    ),
}


class _Dialect(Struct, frozen=True):
    delimiter: str
    quote: str
    escape: str
    header: bool

    @property
    def sql(self) -> str:
        return ", ".join(
            f"'{name}', {sql_literal(value)}"
            for name, value in (("sep", self.delimiter), ("quote", self.quote), ("escape", self.escape))
        )


def _decode_strict(dialect: _Dialect, fields: Fields) -> DecodedSql:
    if not fields:
        return DecodedSql()
    header = str(dialect.header).lower()
    return function_call(
        "decode_csv", fields, settings=(dialect.delimiter, dialect.quote, dialect.escape, header)
    )


def _decode_lenient(dialect: _Dialect, fields: Fields) -> DecodedSql:
    if not fields:
        return DecodedSql()
    rows = parser_call(
        "from_csv", fields, f"map({_SPACES}, {dialect.sql}, 'columnNameOfCorruptRecord', '{BAD}')"
    )
    return DecodedSql(rows=rows, why=(sql_literal(f"not a CSV line of {column_list(fields)}"),))


def _encode_sql(dialect: _Dialect, items: Sequence[Item]) -> tuple[Piece, ...]:
    empty = sql_literal(dialect.quote * 2)
    options = f"{_SPACES}, {dialect.sql}, {TIMES}, 'emptyValue', {empty}"
    line: tuple[Piece, ...] = ("to_csv(", *struct_sql(items), f", map({options}))")
    if dialect.header:
        names = dialect.delimiter.join(_quoted(dialect, name) for name, _ in items)
        line = (f"concat({sql_literal(names)}, '\\n', ", *line, ")")
    return join_pieces(line)


def _quoted(dialect: _Dialect, text: str) -> str:
    special = "".join(map(re.escape, (dialect.delimiter, dialect.quote, dialect.escape)))
    if not re.search(rf"[{special}\n\r]|^\s|\s$|^$", text):
        return text
    for character in {dialect.escape: None, dialect.quote: None}:
        text = text.replace(character, dialect.escape + character)
    return f"{dialect.quote}{text}{dialect.quote}"


def _encode(dialect: _Dialect, value: Any, fields: Fields) -> bytes:
    if isinstance(value, str):
        return encode_utf8(value)
    texts = [
        "" if field_value is None else _written(dialect, field_value)
        for field_value in row_values(value, fields)
    ]
    line = dialect.delimiter.join(texts)
    names = dialect.delimiter.join(_quoted(dialect, field.name) for field in fields)
    return encode_utf8(f"{names}\n{line}" if dialect.header else line)


def _written(dialect: _Dialect, value: Any) -> str:
    text = text_of(value)
    return _SPARK.get(text, text) if isinstance(value, float) else _quoted(dialect, text)


def _decode(dialect: _Dialect, strict: bool, value: bytes, fields: Fields) -> Any:
    try:
        text = decode_utf8(value)
    except UnfitError:
        raise UnfitError("the value is not valid UTF-8") from None
    if dialect.header:
        text = text.removeprefix("\ufeff")  # spreadsheets write it, and it is not part of the first name
    if not text:
        raise UnfitError("the value is empty")
    names = [field.name for field in fields]
    start = 0
    if dialect.header:
        first, start = _read(dialect, text, 0)
        names = [name or "" for name in first]
        if start == len(text):
            raise UnfitError("there is no line after that of the names")
        if twice := [name for index, name in enumerate(names) if name and name in names[:index]]:
            raise UnfitError(f"two fields are named {quote_value(twice[0])}")
    texts, end = _read(dialect, text, start)
    if end < len(text):
        raise UnfitError("there is more after the line")
    if len(texts) != len(names):
        count = "1 field" if len(texts) == 1 else f"{len(texts)} fields"
        raise UnfitError(f"the line has {count} instead of {len(names)}")
    types = {field.name: field.type for field in fields}
    if strict:
        _check(dict(zip(names, texts, strict=True)), fields)
    return {
        name: None if text is None else value_of(text, types[name])
        for name, text in zip(names, texts, strict=True)
        if name in types
    }


def _check(texts: Mapping[str, str | None], fields: Fields) -> None:
    """Raise UnfitError if columns can't hold exactly what a line says."""
    for field in fields:
        text = texts.get(field.name)
        if text is None and not field.nullable:
            raise add_context(field.name, UnfitError("the value is missing"))
        try:
            if text is not None and is_read(field.type):
                read_text(text, field.type)
        except UnfitError as error:
            raise add_context(field.name, error) from None


def _read(dialect: _Dialect, text: str, position: int) -> tuple[list[str | None], int]:
    """Return the fields of the line that starts at a position, and where the next line starts."""
    quote, escape, delimiter = map(re.escape, (dialect.quote, dialect.escape, dialect.delimiter))
    pair = rf"{escape}[{escape}{quote}]|{quote}{quote}"
    field = re.compile(
        rf"(?:{quote}((?:{pair}|[^{quote}])*){quote}|((?!{quote})[^{delimiter}\n]*?))({delimiter}|\r?\n|\Z)",
        re.DOTALL,
    )
    texts: list[str | None] = []
    while True:
        match = field.match(text, position)
        if match is None:
            raise UnfitError(f"field {len(texts) + 1} of the line: {_misplaced(dialect, text, position)}")
        quoted, plain, end = match.groups()
        texts.append(
            re.sub(pair, lambda escaped: escaped[0][1], quoted) if quoted is not None else plain or None
        )
        position = match.end()
        if end != dialect.delimiter:
            return texts, position


def _misplaced(dialect: _Dialect, text: str, position: int) -> str:
    """Say what is wrong with a field that starts with a quote."""
    quote, escape = map(re.escape, (dialect.quote, dialect.escape))
    closed = re.compile(rf"{quote}(?:{escape}[{escape}{quote}]|{quote}{quote}|[^{quote}])*{quote}", re.DOTALL)
    return (
        "there is more after the closing quote"
        if closed.match(text, position)
        else "the closing quote is missing"
    )


def format_of(encoding: Encoding) -> Format:
    options = {name: option.default for name, option in _OPTIONS.items()} | dict(encoding.options)
    dialect = _Dialect(options["delimiter"], options["quote"], options["escape"], options["header"] == "true")
    decode = _decode_strict if encoding.decoding == "strict" else _decode_lenient
    return Format(
        media_type="text/csv",
        spark=SparkCodec(partial(decode, dialect), partial(_encode_sql, dialect)),
        local=LocalCodec(partial(_decode, dialect, encoding.decoding == "strict"), partial(_encode, dialect)),
        by_position=not dialect.header,
        unwritten=frozenset((INTERVAL, VARIANT)),
        options=_OPTIONS,
    )
