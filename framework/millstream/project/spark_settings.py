"""The Spark settings of a target, and which of them can change the rows of a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from millstream.project.secrets import Secret, is_secret_name
from millstream.project.values import Target

TIMEZONE = "spark.sql.session.timeZone"

_RESULTS = ("spark.sql.", "spark.executorEnv.")
"""Settings below these count as changing results, unless they are listed in `_SPEED`."""
_FASTER = """
adaptive. artifact. autoBroadcastJoinThreshold broadcast bucketing. cache. cartesianProductExec. catalog.
catalogImplementation cbo. codegen. columnVector. connect. constraintPropagation. dataframeCache. debug.
default event. exchange. execution.arrow.compression. execution.arrow.max
execution.arrow.transformWithStateInPySpark. execution.pandas.udf.buffer. execution.pyspark.udf.
execution.python.udf. execution.pythonUDF.arrow.concurrency. execution.rangeExchange.
execution.removeRedundant execution.replaceHashWithSortAgg execution.reuseSubquery
execution.topKSortFallbackThreshold execution.useObjectHashAggregateExec execution.usePartitionEvaluator
expressionTreeChangeLog. extendedExplainProviders extensions files. filesourceTableRelationCacheSize hive.
inMemory join. leafNodeDefaultParallelism limit. maven. max metadataCacheTTLSeconds nameResolutionLog.
objectHashAggregate. optimizer. orc.compression. parquet.compression. parquet.enableVectorized
parquet.filterPushdown parquet.columnarReader planChangeLog. planner. pyspark.udf.profiler
queryExecutionListeners redaction. repl. resultQueryStage. sessionWindow.buffer. shuffle sort.
sortMergeJoinExec. sources.parallelPartitionDiscovery. stackTraces statistics. streaming.asyncLogPurge.
streaming.checkpoint streaming.fileS streaming.forceDeleteTempCheckpointLocation streaming.kafka.
streaming.maxBatches streaming.metadataCache. streaming.metricsEnabled streaming.minBatches
streaming.noDataProgressEventInterval streaming.numRecentProgressUpdates streaming.pollingDelay
streaming.ratioExtraSpaceAllowedInCheckpoint streaming.realTimeMode. streaming.stateStore.
streaming.stopTimeout streaming.streamingQueryListeners streaming.ui. subexpressionElimination. thrift ui.
warehouse. window. windowExec.
"""
_SPEED = tuple(f"spark.sql.{name}" for name in _FASTER.split())
"""Where Spark runs a query, how fast, with how much memory and what it logs: none of these changes a row."""
_JAVA_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
_PROPERTY = re.compile(r"-D(?!log4j|java\.io\.tmpdir|com\.sun\.|sun\.|javax\.net\.|java\.security\.)\S+")
"""A property of the JVM, such as `-Duser.language=tr`, or a setting of Spark."""


def spark_settings(target: Target) -> dict[str, str]:
    """Return the `spark:` settings of a target; secrets are revealed."""
    return {name: as_text(value) for name, value in flatten_settings(target.settings.get("spark") or {})}


def settings_of_results(target: Target) -> dict[str, str]:
    """Return the `spark:` settings that can change results; a text from the environment becomes a digest."""
    settings: dict[str, str] = {}
    for name, value in flatten_settings(target.settings.get("spark") or {}):
        text = as_text(value)
        if name in _JAVA_OPTIONS:
            text = " ".join(_PROPERTY.findall(text))
        elif not name.startswith(_RESULTS) or name.startswith(_SPEED) or name == TIMEZONE:
            continue
        if text and not is_secret_name(name):
            settings[name] = _digest(text) if isinstance(value, Secret) else text
    return dict(sorted(settings.items()))


def session_timezone(spark: Mapping[str, Any]) -> Any:
    """Return the time zone that Spark settings name, or None."""
    return next((value for name, value in flatten_settings(spark) if name == TIMEZONE), None)


def with_timezone(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a target with the time zone of its Spark settings as `timezone`."""
    zone = settings.get("timezone") or session_timezone(settings.get("spark") or {})
    return settings | {"timezone": as_text(zone)} if zone else settings


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=12).hexdigest()


def flatten_settings(settings: Mapping[str, Any], above: str = "") -> Iterable[tuple[str, Any]]:
    """Yield settings by their whole names; YAML may write them as a tree."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from flatten_settings(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def as_text(value: Any) -> str:
    if isinstance(value, Secret):
        return value.reveal()
    return str(value).lower() if isinstance(value, bool) else str(value)
