"""Formats of record values: a file for each, and a line in the registry."""

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
"""The names of the formats. The module of each name has its `FORMAT`, and is imported on first use."""

if TYPE_CHECKING:
    Encoding: TypeAlias = str
else:
    Encoding = Literal[NAMES]
"""The format of a topic as a project writes it. All layers pass it on unchanged and call `format_of`."""

DEFAULT_FORMAT: Encoding = "json"


@cache
def format_of(written: Encoding | None) -> Format:
    """Return the format that a topic names, or the default one."""
    found: Format = import_module(f"{__name__}.{written or DEFAULT_FORMAT}").FORMAT
    return found
