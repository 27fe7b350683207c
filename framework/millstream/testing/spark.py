"""The one Spark session that all tests of a process share."""

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
    # For a handful of rows, compiling generated code takes longer than everything else.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_EXTENSIONS = "spark.sql.extensions"


def target_of(target: Target, *, jars: bool) -> Target:
    """Return the target with a local Spark, because tests need no cluster and no secrets.

    Without `jars`, it has none of a store.
    """
    from millstream.engine.spark.functions import EXTENSIONS

    sql_settings = {
        name: value
        for name, value in (target.settings.get("spark") or {}).items()
        if str(name).startswith("spark.sql.") and isinstance(value, str | int | float | bool)
    }
    unit = {
        "master": "local[2]",
        "timezone": target.settings.get("timezone", "UTC"),
        "fast_paths": target.settings.get("fast_paths"),
        "spark": {
            **sql_settings,
            **_SETTINGS,
            _EXTENSIONS: EXTENSIONS,
            "spark.sql.catalog.spark_catalog": "",
        },
    }
    if not jars:
        return replace(target, settings=unit)
    # Rows may be stored anywhere, so all of the target's Spark settings are needed, except its master.
    settings = {name: value for name, value in target.settings.items() if name != "jars"}
    spark = {**(target.settings.get("spark") or {}), **_SETTINGS}
    return replace(target, settings={**settings, "master": "local[2]", "spark": spark})


@contextmanager
def shared_spark(target: Target, logs: Path, formats: Sequence[str], *, jars: bool) -> Iterator[SparkSession]:
    """Yield a session of the Spark that is running in this process, or start one and stop it later.

    `formats` are the features in the catalog of jars that record formats need.
    """
    from pyspark.sql import SparkSession

    from millstream.engine.spark.jars import jars_for, jars_of
    from millstream.engine.spark.session import running_spark

    running = SparkSession._instantiatedSession  # noqa: SLF001 -- getActiveSession is per thread
    if running is not None and running.sparkContext._jsc is not None:  # noqa: SLF001
        session = running.newSession()
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        yield session
        return
    local = target_of(target, jars=jars)
    needed = jars_for(local, formats) if jars else jars_of(formats)
    with running_spark("millstream test", local, needed, logs, profile=target) as session:
        yield session
