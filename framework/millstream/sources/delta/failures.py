"""Why queries that read Delta tables of other programs fail."""

import re

from millstream.core.known_failures import KnownFailure
from millstream.sources.tables import START_OVER


def _operation(name: str | None) -> str:
    return f" ({name.strip()})" if name else ""


FAILURES = (
    KnownFailure(
        "MS645",
        re.compile(
            r"\[DELTA_SOURCE_(?:TABLE_IGNORE_CHANGES|IGNORE_DELETE)\][^\n]*?\(for example (\w[\w ]*)?"
            r"[^\n]*? at version (\d+)\."
        ),
        lambda match: f"version {match[2]} of the table deletes or changes rows{_operation(match[1])}",
        f"set skip_changes: true for the source to leave out such versions; or {START_OVER}",
    ),
    KnownFailure(
        "MS645",
        re.compile(
            r"\[DELTA_MISSING_FILES_UNEXPECTED_VERSION\] [^\n]*? version (\d+); [^\n]*? starts at (\d+)\."
        ),
        lambda match: f"it continues at version {match[1]}, and the table's log starts at version {match[2]}",
        f"{START_OVER}; let the table keep its log for longer: delta.logRetentionDuration",
    ),
    KnownFailure(
        "MS645",
        re.compile(
            r"\[DELTA_VERSION_NOT_FOUND\] [^\n]*? to version (\d+)\. Available versions: \[(\d+), (\d+)\]"
        ),
        lambda match: f"it starts at version {match[1]}, and the table has versions {match[2]} to {match[3]}",
        "set start: of the source to a version that the table has",
    ),
    KnownFailure(
        "MS645",
        re.compile(
            r"\[DELTA_TIMESTAMP_GREATER_THAN_COMMIT\] Timestamp ([\d-]+ [\d:]+)[^\n]*?\(([\d-]+ [\d:]+)"
        ),
        lambda match: f"it starts at {match[1]}, and the table's newest version is of {match[2]}",
        "set start: of the source to an earlier time, or to a version",
    ),
    KnownFailure(
        "MS645",
        re.compile(r"\[DELTA_MISSING_CHANGE_DATA\]"),
        lambda _: "the table recorded no changes for a while",
        f"{START_OVER}; keep its property delta.enableChangeDataFeed",
    ),
    KnownFailure(
        "MS645",
        re.compile(r"\[DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE\]"),
        lambda _: "the table that it has read was recreated",
        START_OVER,
    ),
    KnownFailure(
        "MS645",
        re.compile(
            r"\[DELTA_(?:SCHEMA_CHANGED|CHANGE_DATA_FEED_INCOMPATIBLE|STREAMING_\w*SCHEMA)[\w.]*\]"
            r"[^\n]*?(?: version (\d+))?:?(?:\n|$)"
        ),
        lambda match: "the columns of the table changed" + (f" in version {match[1]}" if match[1] else ""),
        f"continue, if columns were only added; otherwise, {START_OVER}",
    ),
)
