"""The options of MySQL and MariaDB in a profile."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from millstream.stores.declaration import StoreDeclaration

_LARGEST_SCALE = 30
"""MySQL's; MariaDB has 38, as Spark does."""


class MysqlOptions(Struct):
    mysql_url: Annotated[str | None, Meta(description="a database of MySQL or MariaDB")] = None
    mysql_username: str | None = None
    mysql_password: Annotated[str | None, Meta(description="a secret: use env_var()")] = None


_UNSTORED_DECIMALS = (
    f"decimal({precision},{scale})"
    for precision in range(_LARGEST_SCALE + 1, 39)
    for scale in range(_LARGEST_SCALE + 1, precision + 1)
)

DECLARATION = StoreDeclaration(
    title="MySQL",
    sends_rows=True,
    unstored=frozenset(("interval", *_UNSTORED_DECIMALS)),
    options=MysqlOptions,
    location=("mysql_url",),
    required={"mysql_url": "mysql://host:3306/name"},
)
