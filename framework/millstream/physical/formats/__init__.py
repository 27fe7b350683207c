"""Formats of records: a file each, and one line in `FORMATS`."""

from __future__ import annotations

from millstream.physical.formats.base import Format
from millstream.physical.formats.binary import BINARY
from millstream.physical.formats.csv import CSV
from millstream.physical.formats.json import JSON
from millstream.physical.formats.long import LONG
from millstream.physical.formats.string import STRING
from millstream.physical.formats.xml import XML

FORMATS: dict[str, Format] = {
    "json": JSON,
    "string": STRING,
    "long": LONG,
    "binary": BINARY,
    "csv": CSV,
    "xml": XML,
}
"""By what users call them; `python:<function>` and those of registries come with what reads them."""
