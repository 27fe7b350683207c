"""The rows of a query, with the values that the columns of models have in Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any
from zoneinfo import ZoneInfo

from millstream.core.types import BOOLEAN, TIMESTAMP, VARIANT, Type, parse_type
from millstream.stores.databases.schema import NESTED, stored_name
from millstream.stores.tables.relations import StoredRelation


def read_rows(
    cursor: Any, tables: Mapping[str, StoredRelation], zone: ZoneInfo
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Return columns and rows. A server says which column of a table a value is from, if it is one."""
    fields = cursor._result.fields or ()  # noqa: SLF001 -- the description has no origins
    readers = [_reader(_type_of(tables, str(field.org_table), str(field.org_name)), zone) for field in fields]
    rows = [
        tuple(
            value if value is None or reader is None else reader(value)
            for value, reader in zip(row, readers, strict=True)
        )
        for row in cursor.fetchall()
    ]
    return tuple(str(field.name) for field in fields), rows


def _type_of(tables: Mapping[str, StoredRelation], table: str, column: str) -> Type | None:
    if (relation := tables.get(table)) is None:
        return None
    return next((parse_type(kind) for name, kind in relation.columns if stored_name(name) == column), None)


def _reader(kind: Type | None, zone: ZoneInfo) -> Callable[[Any], Any] | None:
    if kind == BOOLEAN:
        return bool
    if kind == TIMESTAMP:
        return lambda value: _aware(value, zone)
    return json.loads if isinstance(kind, NESTED) or kind == VARIANT else None


def _aware(value: Any, zone: ZoneInfo) -> Any:
    return value.replace(tzinfo=timezone.utc).astimezone(zone) if isinstance(value, datetime) else value
