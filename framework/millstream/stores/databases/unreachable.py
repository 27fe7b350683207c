"""Errors of databases that can't be reached."""

from __future__ import annotations

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.stores.databases.dialect import Dialect
from millstream.stores.databases.schema import DatabaseSchema


def invalid_address(dialect: Dialect, example: str) -> MillstreamError:
    """Refuse an address without quoting it, since it may contain a password."""
    message = f"the address of {dialect.title} is invalid"
    remedy = f"write {example} in `tables:` of profiles.yml"
    return MillstreamError(Diagnostic("MS846", message, None, remedy))


def unreachable(schema: DatabaseSchema, reason: str, options: str) -> MillstreamError:
    message = schema.masked(f"{schema.dialect.title} at {schema.url} can't be reached: {reason}")
    remedy = f"start it, or fix {options} of `tables:` in profiles.yml"
    return MillstreamError(Diagnostic("MS846", message, None, remedy))
