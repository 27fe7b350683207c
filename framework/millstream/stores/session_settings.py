"""Settings of a Spark session for a while."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def using(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    before = change(session, settings)
    try:
        yield
    finally:
        restore(session, before)


def change(session: SparkSession, settings: Mapping[str, str]) -> dict[str, str | None]:
    """Change settings, and return their earlier values."""
    before = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    return before


def restore(session: SparkSession, before: Mapping[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, value)
