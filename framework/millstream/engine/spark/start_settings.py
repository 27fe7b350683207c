"""Spark's settings for a start: Millstream's own, overridden by the profile."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from millstream.engine.spark import log, worker_daemon
from millstream.engine.spark.functions import EXTENSIONS
from millstream.engine.spark.jvm import OPTIONS
from millstream.local.memory import memory_of_machine
from millstream.project.heap import HEAP, heap_of
from millstream.project.secrets import Secret
from millstream.project.spark_settings import TIMEZONE, flatten_settings
from millstream.project.spark_settings import spark_settings as given_settings
from millstream.project.values import Target, is_local, shuffle_partitions
from millstream.stores.registry import configured_stores, store_declaration
from millstream.stores.session_settings import fast_path_settings

_EXCLUDED = "spark.sql.optimizer.excludedRules"
_EXTENSIONS = "spark.sql.extensions"
_REDACTED = "spark.redaction.regex"

_SWITCHED_OFF = (
    # It would compute the records of a fan-out twice: once to see whether there are any.
    "InferFiltersFromGenerate",
    # For a new predicate, it goes back to the plan that a shared CTE had before columns of others were
    # pruned, which is invalid. Millstream's own rules leave it nothing to do.
    "PushdownPredicatesAndPruneColumnsForCTEDef",
)

_ALWAYS = {
    # It has no login, and shows settings, plans and the environment to everybody who reaches the driver.
    "spark.ui.enabled": "false",
    "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
    "spark.sql.streaming.numRecentProgressUpdates": "1000",
    "spark.ui.showConsoleProgress": "false",
    # Spark describes each plan for its UI; by default with each operator's arguments, twice as much work.
    "spark.sql.ui.explainMode": "simple",
    # The JVM doesn't compile longer methods; with this limit, Spark splits them.
    "spark.sql.codegen.hugeMethodLimit": "8000",
    # By default Spark caches 100 classes, enough for a few queries; beyond that, each batch would recompile.
    "spark.sql.codegen.cache.maxEntries": "2000",
    # What the parser of SQL remembers of a hundred queries takes 500 MB, which it never frees by itself.
    "spark.sql.parser.parserDfaCacheFlushRatio": "10",
    # The records that each query read last of each partition, up to 20,000, which Spark keeps for 5 minutes.
    "spark.kafka.consumer.fetchedData.cache.timeout": "10s",
    "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "5s",
    # PySpark would ask Java for each part of an expression what runs, to show the line of Python in errors.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # Spark's default, 96 bits, is read by others as nanoseconds, which end in the year 2262.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    _EXCLUDED: ",".join(f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _SWITCHED_OFF),
    # Spark shows options in plans and logs; its default pattern doesn't cover Kafka's logins.
    _REDACTED: "(?i)secret|password|token|credential|access[.]?key|jaas",
    "spark.sql.redaction.options.regex": "(?i)url|secret|password|token|credential|jaas",
}

Amount = Literal["few", "many", "endless"]
"""The records that a JVM is started for."""
_FIRST_COMPILER = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
"""Compiling to the fastest code takes longer than a build of some hundred thousand records."""
_BOTH_COMPILERS = (
    "-XX:Tier4InvocationThreshold=100000 -XX:Tier4MinInvocationThreshold=12000"
    " -XX:Tier4CompileThreshold=300000 -XX:Tier4BackEdgeThreshold=800000"
)
"""The second compiler is for what runs all the time.

By Java's own thresholds, it takes a quarter of the CPU of a build of two million records, or of a run.
"""
_COLLECTOR = "-XX:+UseParallelGC"
"""The one that takes the least CPU; its pauses are far below a batch."""
_FIRST_COLLECTION = "-XX:MetaspaceSize=256m"
"""Java collects all garbage when classes take 21 MB, and again each time they take half as much more.

Those of Spark take 60 to 250 MB, and none of them can be freed while it starts.
"""
_COLLECTORS = re.compile(r"-XX:\+Use\w+GC\b")

_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # The least memory of a lookup that is broadcast, a hash table and a sort; by default 64 MB.
    "spark.buffer.pageSize": "2m",
    "spark.python.daemon.module": worker_daemon.__name__,
    # Hadoop's own start `chmod` and `readlink` for each file of a checkpoint, and write a checksum file next
    # to it.
    "spark.hadoop.fs.file.impl": "millstream.spark.LocalFiles",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "millstream.spark.LocalCheckpoints",
}


def spark_settings(
    target: Target,
    jars: Sequence[Path],
    folder: Path,
    classes: str = "",
    *,
    amount: Amount = "few",
    queries: int = 0,
) -> dict[str, str]:
    """Return Spark's settings: Millstream's own, overridden by the profile; logs go to `folder`.

    `classes` has the JVM's options about archives of classes, if any; `queries` will run at once.
    """
    local = is_local(target)
    options = f"-Dlog4j2.configurationFile={log.write_log_config(folder).as_uri()}"
    if local:
        options += f" {_FIRST_COMPILER if amount == 'few' else _BOTH_COMPILERS} {_FIRST_COLLECTION}"
    # Users don't need the JVM's messages about class archives.
    options += f" -Xlog:disable {classes}" if classes else ""
    settings = _ALWAYS | _of_stores(target) | (_LOCAL if local else {})
    settings |= {
        **fast_path_settings(target),
        HEAP: f"{heap_of(target, queries, memory_of_machine())}m",
        TIMEZONE: str(target.settings.get("timezone", "UTC")),
        "spark.sql.shuffle.partitions": str(shuffle_partitions(target)),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri() if local else "",
        # On the JVM's own class path, classes load faster, and the archive includes them.
        "spark.driver.extraClassPath": os.pathsep.join(map(str, jars)) if local else "",
        "spark.jars": "" if local else ",".join(path.as_uri() for path in jars),
        # Versions that catch up share the cores with those that run.
        "spark.scheduler.mode": "FAIR" if amount == "endless" else "",
    }
    profile_settings = given_settings(target)
    # Loading a profile makes it the target's `timezone`.
    profile_settings.pop(TIMEZONE, None)
    more = profile_settings.pop(OPTIONS, "")
    if local and not _COLLECTORS.search(more):
        options += f" {_COLLECTOR}"
    settings[OPTIONS] = f"{options} {more}".rstrip()
    if more := profile_settings.pop(_EXCLUDED, ""):
        settings[_EXCLUDED] += f",{more}"
    redacted = [f"^{re.escape(name)}$" for name in sorted(secret_names(target))]
    settings[_REDACTED] = "|".join(
        filter(None, (settings[_REDACTED], *redacted, profile_settings.pop(_REDACTED, "")))
    )
    return {name: value for name, value in (settings | profile_settings).items() if value}


def secret_names(target: Target) -> frozenset[str]:
    """Return the Spark settings whose values come from the environment, or look like secrets."""
    settings = flatten_settings(target.settings.get("spark") or {})
    return frozenset(name for name, value in settings if isinstance(value, Secret))


def _of_stores(target: Target) -> dict[str, str]:
    """Return the settings of all stores that a target can use, with the extensions of each."""
    settings = {_EXTENSIONS: EXTENSIONS}
    for store in configured_stores(target.settings.get("tables") or {}):
        store_settings = dict(store_declaration(store).spark_settings)
        if _EXTENSIONS in store_settings:
            store_settings[_EXTENSIONS] = f"{settings[_EXTENSIONS]},{store_settings[_EXTENSIONS]}"
        settings |= store_settings
    return settings
