"""Tables in MySQL without Spark."""

from __future__ import annotations

from pathlib import Path

from millstream.project.values import Target
from millstream.stores.databases.local import LocalDatabase
from millstream.stores.mysql.schema import mysql_schema


def locate(target: Target, _root: Path) -> LocalDatabase:
    return LocalDatabase(mysql_schema(target))
