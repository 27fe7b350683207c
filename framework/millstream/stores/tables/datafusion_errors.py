"""Converts DataFusion's errors to diagnostics with a location in the SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.core.text import FileText
from millstream.sql.dialect_words import first_mention
from millstream.stores.tables.relations import StoredRelation, missing_table

FILE = "query"
_NO_TABLE = re.compile(r"table '([^']+)' not found")
_NO_COLUMN = re.compile(r"No field named (.+?)\.(?: |\n|$)")
_VALID = re.compile(r"Valid fields are (.+?)\.?\s*$", re.DOTALL)
_NO_FUNCTION = re.compile(r"Invalid function '([^']+)'\.(?:\s*Did you mean '([^']+)'\?)?")
_PARSER = re.compile(r'ParserError\("(.*?)(?: at Line: (\d+), Column: (\d+))?"\)', re.DOTALL)
_PREFIX = re.compile(
    r"^(?:(?:External|Arrow|Cast|Compute|SQL|Schema|Execution|Parquet|Invalid argument|Parser) error: "
    r"|Error during planning: |This feature is not implemented: |type_coercion\s+caused by\s+)",
    re.IGNORECASE,
)
_TYPES = {
    "Utf8View": "string", "LargeUtf8": "string", "Utf8": "string", "BinaryView": "binary", "Int64": "bigint",
    "Int32": "int", "Float64": "double", "Boolean": "boolean", "Date32": "date",
}  # fmt: skip
_REMEDY = "DataFusion runs this query; its SQL is similar to PostgreSQL's"
INSTEAD = {
    "add_months": "at + interval '1 month'", "approx_count_distinct": "approx_distinct(x)",
    "ceiling": "ceil(n)", "collect_list": "array_agg(x)", "collect_set": "array_agg(distinct x)",
    "count_if": "count(*) filter (where …)", "date_add": "at + interval '1 day'",
    "date_diff": "date_part('day', b - a)", "date_sub": "at - interval '1 day'",
    "dateadd": "at + interval '1 day'", "datediff": "date_part('day', b - a)", "day": "date_part('day', at)",
    "dayofmonth": "date_part('day', at)",
    "endswith": "ends_with(x, 'a')", "every": "bool_and(…)", "explode": "unnest(xs)",
    "first": "first_value(x order by at)", "hour": "date_part('hour', at)",
    "if": "case when … then … else … end", "isnotnull": "x is not null", "isnull": "x is null",
    "last": "last_value(x order by at)", "lcase": "lower(x)", "len": "length(x)", "locate": "instr(x, 'a')",
    "max_by": "first_value(x order by at desc)", "min_by": "first_value(x order by at)",
    "minute": "date_part('minute', at)", "mod": "n % 2", "month": "date_part('month', at)",
    "percentile": "percentile_cont(n, 0.5)", "percentile_approx": "approx_percentile_cont(n, 0.5)",
    "regexp_extract": "regexp_match(x, '…')[1]", "rlike": "x ~ '…'", "second": "date_part('second', at)",
    "size": "cardinality(xs)", "some": "bool_or(…)", "sort_array": "array_sort(xs)",
    "split": "string_to_array(x, ',')", "startswith": "starts_with(x, 'a')", "std": "stddev(n)",
    "timestamp_micros": "to_timestamp_micros(n)", "timestamp_millis": "to_timestamp_millis(n)",
    "timestamp_seconds": "to_timestamp_seconds(n)", "ucase": "upper(x)", "unix_timestamp": "to_unixtime(at)",
    "weekofyear": "date_part('week', at)", "window": "date_bin(interval '1 hour', at)",
    "year": "date_part('year', at)",
}  # fmt: skip
"""What DataFusion has in place of functions of Spark SQL."""


def problem_of(sql: str, error_text: str, relations: Mapping[str, StoredRelation]) -> MillstreamError:
    remedy, start = _REMEDY, None
    if match := _NO_TABLE.search(error_text):
        name = match.group(1).removeprefix("datafusion.").removeprefix("public.")
        if "." in name and (f'"{name}"' in sql or f"`{name}`" in sql):
            message = f"no table has the name '{name}', with a dot in it"
            remedy = f"write {name} without quotes, or quote each part: " + ".".join(
                f'"{part}"' for part in name.split(".")
            )
            return query_error(sql, Diagnostic("MS842", message, None, remedy), sql.find(name) - 1)
        return query_error(sql, missing_table(name, relations), first_mention(sql, name))
    if match := _NO_COLUMN.search(error_text):
        name = match.group(1).replace('"', "")
        message, start = f"column '{name}' does not exist", first_mention(sql, name)
        remedy = _column_remedy(name, _VALID.search(error_text))
    elif match := _NO_FUNCTION.search(error_text):
        name, near = match.groups()
        message, start = f"function '{name}' does not exist in DataFusion", first_mention(sql, name)
        remedy = _function_remedy(name.lower(), near)
    elif match := _PARSER.search(error_text):
        message, line, column = match.groups()
        start = FileText(FILE, sql).offset(int(line), int(column)) if line else len(sql.rstrip())
        message = message.replace("EOF", "the end").replace('\\"', '"')
        message = message[0].lower() + message[1:]
    else:
        message = clean_error(error_text)
    return query_error(sql, Diagnostic("MS845", message, None, remedy), start)


def query_error(sql: str, diagnostic: Diagnostic, start: int | None = None) -> MillstreamError:
    """Add the location in the SQL, if it is known."""
    if start is None or not 0 <= start <= len(sql):
        return MillstreamError(diagnostic)
    text = FileText(FILE, sql)
    word = re.compile(r'"[^"]*"|`[^`]*`|[\w.]+|.', re.DOTALL).match(sql, start)
    location = text.location(start, word.end() if word else None)
    return MillstreamError(replace(diagnostic, location=location, line=text.line(location.line)))


def clean_error(error_text: str) -> str:
    """Return the last cause, without DataFusion's internal names."""
    # delta-rs prints causes in colour, one on each line.
    error_text = re.sub(r"\s*\x1b\[\d+m↳\x1b\[0m", ":", error_text)
    text = re.split(r"\ncaused by\n", error_text)[-1].strip()
    while (shorter := _PREFIX.sub("", text)) != text:
        text = shorter
    for name, shown in _TYPES.items():
        text = re.sub(rf"\b{name}\b", shown, text)
    text = " ".join(text.split())
    return text[:1].lower() + text[1:].rstrip(".") if text else "the query failed"


def _column_remedy(name: str, valid: re.Match[str] | None) -> str:
    columns = [column.replace('"', "").strip() for column in valid.group(1).split(",")] if valid else []
    short = list(dict.fromkeys(column.rpartition(".")[2] for column in columns))
    available = f"columns: {', '.join(short)}" if short else _REMEDY
    return did_you_mean(name.rpartition(".")[2], short, available)


def _function_remedy(name: str, near: str | None) -> str:
    if name in INSTEAD:
        return f"DataFusion runs this query: write {INSTEAD[name]}"
    # DataFusion names its nearest function, however far.
    return did_you_mean(name, [near] if near else [], _REMEDY)
