"""One Spark for all tests of a process, whoever starts it."""

from __future__ import annotations

from collections.abc import Iterator
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
    "spark.sql.streaming.metricsEnabled": "false",
}


def target_of(target: Target) -> Target:
    """Return a target that runs here, whatever the project's is: tests need no cluster and no secrets."""
    own = {
        name: value
        for name, value in (target.settings.get("spark") or {}).items()
        if str(name).startswith("spark.sql.") and isinstance(value, str | int | float | bool)
    }
    timezone = target.settings.get("timezone", "UTC")
    return replace(target, settings={"master": "local[2]", "timezone": timezone, "spark": {**own, **_SETTINGS}})


@contextmanager
def shared_spark(target: Target, folder: Path) -> Iterator[SparkSession]:
    """Yield a session of the Spark that runs in this process, or of one that is started and stopped."""
    from pyspark.sql import SparkSession

    from millstream.runner.jars import jars_for
    from millstream.runner.session import running_spark

    running = SparkSession._instantiatedSession  # noqa: SLF001 -- the active one is the thread's
    if running is not None and running.sparkContext._jsc is not None:  # noqa: SLF001
        session = running.newSession()
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
        yield session
        return
    local = target_of(target)
    with running_spark("millstream test", local, jars_for(local), folder / "log") as started:
        yield started
