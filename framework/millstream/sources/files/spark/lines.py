"""Decodes the lines of files as the values of topics are decoded."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from millstream.core.expressions import (
    Expression,
    Piece,
    Ref,
    join_pieces,
    quote_name,
    render_sql,
    sql_literal,
)
from millstream.core.node_id import NodeId
from millstream.core.types import UNKNOWN, Field
from millstream.formats.format import DecodedSql
from millstream.formats.options import text_of
from millstream.formats.registry import Encoding, format_of
from millstream.formats.sql import BAD
from millstream.project.values import RowSource
from millstream.queries.checks import count_name
from millstream.sources.files.declaration import ENCODINGS

_LINE = (Ref("_file"), Ref("line"))
"""The arguments with the place of a line, in the columns of the rows to decode."""


def decode_lines(rows: DataFrame, source: RowSource, fields: Sequence[Field]) -> DataFrame:
    """Decode rows with the columns line, _file and _modified; empty lines of JSON and CSV are left out."""
    decoded = _decoder(source, fields)
    skips = source.options.get("on_bad_record", "fail") != "fail"
    rows = _values(rows, source, fields)
    names = [quote_name(field.name) for field in fields]
    if not decoded.rows:
        if skips and decoded.good:
            rows = _without_bad(rows, source, _sql(decoded.good))
        columns = [_column(decoded, pieces, skips=skips) for pieces in decoded.fields]
    else:
        parsed = decoded.rows if skips else _required(decoded)
        rows = rows.selectExpr("struct(_file, _modified) as _place", _sql(("inline(", *parsed, ")")))
        rows = _without_bad(rows, source, f"{BAD} is null") if skips else rows
        rows = rows.selectExpr("*", "_place._file", "_place._modified")
        restored = decoded.fields or ((),) * len(names)
        columns = [_sql(pieces) if pieces else name for pieces, name in zip(restored, names, strict=True)]
    typed = (f"{column} as {name}" for column, name in zip(columns, names, strict=True))
    return rows.selectExpr(*typed, "_file", "_modified")


def undecodable_lines(rows: DataFrame, source: RowSource, fields: Sequence[Field]) -> DataFrame:
    """Return the lines that can't be decoded, each with its file, its number and the reason.

    `rows` also have `_start`, the first byte of the block of the file that Spark reads a line in.
    """
    decoded = _decoder(source, fields)
    rows = _values(rows, source, fields)
    if not decoded.rows:
        bad = rows.where(_sql(("not ", *decoded.good)) if decoded.good else "false")
        reason = _sql(decoded.why) if decoded.why else "''"
    else:
        rows = rows.selectExpr("struct(line, _file, _start) as _place", _sql(("inline(", *decoded.rows, ")")))
        bad = rows.where(f"{BAD} is not null").selectExpr("*", "_place.*")
        reason = f"{BAD}[0].reason" if decoded.required else _sql(decoded.why)
    placed = bad.selectExpr("line", f"{reason} as reason", "next_file_place(_file, line, _start) as place")
    return placed.selectExpr(
        "line",
        "regexp_replace(place, '^file |, line [0-9]+$', '') as file",
        "try_cast(regexp_extract(place, ', line ([0-9]+)$', 1) as int) as number",
        "reason",
    )


def _decoder(source: RowSource, fields: Sequence[Field]) -> DecodedSql:
    return format_of(_encoding(source)).spark.decode(fields)


def _values(rows: DataFrame, source: RowSource, fields: Sequence[Field]) -> DataFrame:
    """Return the lines that are rows, with the values to decode."""
    encoding = _encoding(source)
    if not format_of(encoding).single:
        rows = rows.where("length(line) > 0")
    return _with_values(rows, encoding, [field.name for field in fields])


def _without_bad(rows: DataFrame, source: RowSource, good: str) -> DataFrame:
    """Leave out lines that can't be decoded; a stream counts those that no dead letters are made of."""
    if rows.isStreaming and not source.dead_letter_topic:
        name = count_name("skipped", NodeId("source", source.id))
        rows = rows.observe(name, f.expr(f"count_if(not ({good}))").alias(name))
    return rows.where(good)


def _encoding(source: RowSource) -> Encoding:
    name = ENCODINGS[source.settings["format"]]
    options = {option: text_of(value) for option, value in source.settings["format_options"].items()}
    defaults = format_of(name).options
    changed = sorted((o, text) for o, text in options.items() if text != defaults[o].default)
    return Encoding(name, options=tuple(changed))


def _with_values(rows: DataFrame, encoding: Encoding, columns: Sequence[str]) -> DataFrame:
    """Add the values to decode: with a header, each is the header and a line."""
    options = {name: o.default for name, o in format_of(encoding).options.items()} | dict(encoding.options)
    if options.get("header") != "true":
        return rows.selectExpr("*", "line as value")
    arguments = ", ".join(sql_literal(text) for text in (options["delimiter"], options["quote"], *columns))
    rows = rows.selectExpr("*", f"file_header(_file, {arguments}) as header").where("line <> header")
    return rows.selectExpr("*", "concat(header, X'0A', line) as value").drop("header")


def _required(decoded: DecodedSql) -> tuple[Piece, ...]:
    """Return rows of a call that fails with the place of a line that can't be decoded."""
    if decoded.required is not None:
        return decoded.required(_LINE)
    return (
        *("transform(", *decoded.rows, f", parsed -> if(parsed.{BAD} is null, parsed, "),
        *_raised(decoded.why),
        "))",
    )


def _column(decoded: DecodedSql, pieces: tuple[Piece, ...], *, skips: bool) -> str:
    if skips or not decoded.good:
        return _sql(pieces)
    return _sql(("if(", *decoded.good, ", ", *pieces, ", ", *_raised(decoded.why), ")"))


def _raised(why: tuple[Piece, ...]) -> tuple[Piece, ...]:
    file, line = _LINE
    return ("raise_error(concat('bad record: ', file_place(", file, ", ", line, "), ': ', ", *why, "))")


def _sql(pieces: Sequence[Piece]) -> str:
    return render_sql(Expression(join_pieces(pieces), UNKNOWN))
