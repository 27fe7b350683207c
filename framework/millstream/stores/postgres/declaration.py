"""The options of PostgreSQL in a profile."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from millstream.stores.declaration import StoreDeclaration


class PostgresOptions(Struct):
    url: Annotated[str | None, Meta(description="a PostgreSQL database")] = None
    username: str | None = None
    password: Annotated[str | None, Meta(description="a secret: use env_var()")] = None
    database_schema: Annotated[str | None, Meta(description="the schema of PostgreSQL tables")] = None


DECLARATION = StoreDeclaration(
    title="PostgreSQL",
    sends_rows=True,
    unstored=frozenset(("interval",)),
    options=PostgresOptions,
    location=("url", "database_schema"),
    required={"url": "postgresql://host:5432/name"},
    words={"schema": "write database_schema: …", "user": "write username: …"},
)
