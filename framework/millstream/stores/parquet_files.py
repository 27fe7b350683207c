"""How Spark writes and reads Parquet files that are rows of a table."""

from __future__ import annotations

import re

WRITING = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.writeLegacyFormat": "false",
    "spark.sql.parquet.fieldId.write.enabled": "false",
    # A stream's session has it switched off; without it, each task of a join writes a file.
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
}
"""Settings of a session, by which other programs understand what it writes."""


def exact_path(path: str) -> str:
    """Return a path for Spark's readers, which take it as a pattern."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)
