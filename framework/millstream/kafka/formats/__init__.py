"""Formats of records without Spark: a file each, and one line in `FORMATS`."""

from __future__ import annotations

from millstream.kafka.formats.base import Format
from millstream.kafka.formats.binary import BINARY
from millstream.kafka.formats.csv import CSV
from millstream.kafka.formats.json import JSON
from millstream.kafka.formats.long import LONG
from millstream.kafka.formats.string import STRING
from millstream.kafka.formats.xml import XML

FORMATS: dict[str, Format] = {
    "json": JSON,
    "string": STRING,
    "long": LONG,
    "binary": BINARY,
    "csv": CSV,
    "xml": XML,
}
"""By what users call them, as in `millstream.physical.formats`, which makes Spark read and write the same."""
