"""The rows that answer a query."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Answer(Struct, frozen=True):
    """Values are of Python; a struct or a map is a dict, an array a list."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    more: bool = False
    """There are more rows than were asked for."""
