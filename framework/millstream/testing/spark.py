"""One Spark for all tests of a process, whoever starts it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from millstream.project.values import Target

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    # For a handful of rows, compiling code takes longer than all else.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_WITHOUT_JARS = {"spark.sql.extensions": "", "spark.sql.catalog.spark_catalog": ""}


def target_of(target: Target, *, jars: bool) -> Target:
    """Return a target that runs here, whatever the project's is: tests need no cluster and no secrets."""
    own = {
        name: value
        for name, value in (target.settings.get("spark") or {}).items()
        if str(name).startswith("spark.sql.") and isinstance(value, str | int | float | bool)
    }
    unit = {
        "master": "local[2]",
        "timezone": target.settings.get("timezone", "UTC"),
        "spark": {**own, **_SETTINGS, **_WITHOUT_JARS},
    }
    if not jars:
        return replace(target, settings=unit)
    # What is stored may be anywhere, so all that the target says of Spark holds, but for where it runs.
    given = {name: value for name, value in target.settings.items() if name != "jars"}
    spark = {**(target.settings.get("spark") or {}), **_SETTINGS}
    return replace(target, settings={**given, "master": "local[2]", "spark": spark})


@contextmanager
def shared_spark(
    target: Target, folder: Path, formats: Sequence[str], *, jars: bool
) -> Iterator[SparkSession]:
    """Yield a session of the Spark that runs in this process, or of one that is started and stopped.

    `formats` are the features of the catalog of jars that formats of records need.
    """
    from pyspark.sql import SparkSession

    from millstream.runner.jars import jars_for, jars_of
    from millstream.runner.session import running_spark

    running = SparkSession._instantiatedSession  # noqa: SLF001 -- the active one is the thread's
    if running is not None and running.sparkContext._jsc is not None:  # noqa: SLF001
        session = running.newSession()
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        yield session
        return
    local = target_of(target, jars=jars)
    found = jars_for(local, formats) if jars else jars_of(formats)
    with running_spark("millstream test", local, found, folder / "log") as started:
        yield started
