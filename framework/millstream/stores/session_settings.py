"""Settings of a Spark session: for a while, and whether its queries take shortcuts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from millstream.project.values import Target

_FAST_PATHS = "spark.millstream.fastPaths"


@contextmanager
def use_settings(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    before = change_settings(session, settings)
    try:
        yield
    finally:
        restore_settings(session, before)


def change_settings(session: SparkSession, settings: Mapping[str, str]) -> dict[str, str | None]:
    """Change settings, and return their earlier values."""
    before = {name: session.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        session.conf.set(name, value)
    return before


def restore_settings(session: SparkSession, before: Mapping[str, str | None]) -> None:
    for name, value in before.items():
        if value is None:
            session.conf.unset(name)
        else:
            session.conf.set(name, value)


def fast_path_settings(target: Target) -> dict[str, str]:
    """Return the setting of sessions by which a target's queries take no shortcuts, if it wants none."""
    return {_FAST_PATHS: "off"} if target.settings.get("fast_paths") == "off" else {}


def takes_fast_paths(session: SparkSession) -> bool:
    """Whether queries do what a batch needs in ways that cost less, and give the same rows as Spark's own."""
    return session.conf.get(_FAST_PATHS, "on") != "off"
