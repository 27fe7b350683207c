"""The result of a query."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Answer(Struct, frozen=True):
    """Python values; structs and maps are dicts, arrays are lists."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    more: bool = False
    """There are more rows than the limit."""
