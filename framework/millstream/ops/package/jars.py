"""The jars of a package."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from millstream.engine.spark.jars import features_of, jars_of
from millstream.kafka.cluster import is_embedded
from millstream.local.jars import Progress
from millstream.project.values import Target


def jars_to_package(target: Target, formats: Iterable[str], progress: Progress | None = None) -> list[Path]:
    """Return the jars of Spark and, for the embedded Kafka, of the broker, whatever a cluster provides."""
    features = features_of(target, formats)
    return jars_of((*features, "broker") if is_embedded(target) else features, progress)
