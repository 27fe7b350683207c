"""Why queries that read files fail."""

import re

from millstream.core.known_failures import END, KnownFailure, first_group

_REMEDY = "declare the columns that the files have, or fix the file"

FAILURES = (
    KnownFailure(
        "MS862",
        re.compile(r"(bad record: file (?:/|s3a:)[^\n]*?)" + END),
        first_group,
        "fix the file, or set on_bad_record: skip or dead_letter for the source",
    ),
    KnownFailure(
        "MS699",
        re.compile(r"bad (file: [^\n]*?)" + END),
        first_group,
        _REMEDY,
        raised=True,
    ),
    KnownFailure(
        "MS699",
        re.compile(
            r"PARQUET_COLUMN_DATA_TYPE_MISMATCH\][^\n]*? reading file (\S+?)\. [^\n]*?column \[([^\n]*?)\]\. "
            r"Expected Spark type ([^\n]+?), actual Parquet type (\w+)"
        ),
        lambda match: f"file: {match[1]}: column {match[2]} is {match[4]}, which can't be read as {match[3]}",
        _REMEDY,
    ),
    KnownFailure(
        "MS699",
        re.compile(
            r"FAILED_READ_FILE[\w.]*\][^\n]*? reading file (\S+?)\. (?s:.*?)Cannot convert Avro field "
            r"'([^'\n]*)'[^\n]*?(?:\(avroType = ([^\n]*), sqlType = ([^\n]*)\)"
            r'|data type is ([^\n]*), however[^\n]* as "([^\n"]*)")'
        ),
        lambda match: (
            f"file: {match[1]}: column {match[2]} is {match[3] or match[5]}, "
            f"which can't be read as {match[4] or match[6]}"
        ),
        _REMEDY,
        joined=True,
    ),
)
