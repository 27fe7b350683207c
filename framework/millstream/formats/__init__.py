"""Formats of record values: one file each, and one line in the registry."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from millstream.formats.format import Format

NAMES = (
    "json",
    "csv",
    "xml",
    "string",
    "long",
    "binary",
)
"""What users call the formats. The module of that name has its `FORMAT`, and is imported when it is used."""

if TYPE_CHECKING:
    Encoding: TypeAlias = str
else:
    Encoding = Literal[NAMES]
"""What a project writes as the format of a topic. All layers hand it on as it is, and ask `format_of`."""

DEFAULT_FORMAT: Encoding = "json"


@cache
def format_of(written: Encoding | None) -> Format:
    """Return the format that a topic names, or the default one."""
    found: Format = import_module(f"{__name__}.{written or DEFAULT_FORMAT}").FORMAT
    return found
