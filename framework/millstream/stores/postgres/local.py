"""Tables in PostgreSQL without Spark."""

from __future__ import annotations

from pathlib import Path

from millstream.project.values import Target
from millstream.stores.databases.local import LocalDatabase
from millstream.stores.postgres.schema import postgres_schema


def locate(target: Target, _root: Path) -> LocalDatabase:
    return LocalDatabase(postgres_schema(target))
