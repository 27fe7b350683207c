"""Formats of record values: one file each, and one line in the registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from millstream.formats.binary import BINARY
from millstream.formats.csv import CSV
from millstream.formats.format import Decoded, Format
from millstream.formats.json import JSON
from millstream.formats.long import LONG
from millstream.formats.string import STRING
from millstream.formats.xml import XML

__all__ = ["DEFAULT_FORMAT", "FORMATS", "Decoded", "Encoding", "Format", "format_of"]

FORMATS = {
    format_.name: format_
    for format_ in (
        JSON,
        CSV,
        XML,
        STRING,
        LONG,
        BINARY,
    )
}

if TYPE_CHECKING:
    Encoding: TypeAlias = str
else:
    Encoding = Literal[tuple(FORMATS)]
"""What a project writes as the format of a topic; every layer hands it on as it is, and asks `format_of`."""

DEFAULT_FORMAT: Encoding = JSON.name


def format_of(written: Encoding | None) -> Format:
    """Return the format that a topic names, or the default one."""
    return FORMATS[written or DEFAULT_FORMAT]
