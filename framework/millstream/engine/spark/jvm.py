"""Starts Spark's JVM without secrets in its command line, which every user of the machine can read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.sql import SparkSession

from millstream.engine.spark.jvm_process import remember_process
from millstream.local.environment import for_spark
from millstream.local.group_signals import ignore_group_signals

OPTIONS = "spark.driver.extraJavaOptions"
LAUNCHER = ("spark.driver.memory", "spark.driver.extraClassPath", "spark.driver.extraLibraryPath")
"""Only the launcher reads these (SparkSubmitCommandBuilder): it builds the JVM's command line from them."""


def start_jvm(
    settings: Mapping[str, str], hidden: frozenset[str], folder: Path, declared: Collection[str] = ()
) -> dict[str, str]:
    """Start the JVM, unless this process has one; return the settings for its `SparkContext`.

    PySpark gives all settings to the launcher as arguments. Those in `hidden` only follow through Py4J, when
    the context is created. Java itself needs its options, so hidden ones are in a file until it has started.
    Of the environment, it sees what it needs and the variables in `declared`.
    """
    if SparkContext._gateway is not None:  # noqa: SLF001 - there is no public API for the process
        return dict(settings)
    with options_in_file(settings, hidden, folder) as context_settings:
        arguments = SparkConf(loadDefaults=False)
        for name, value in context_settings.items():
            if name not in hidden or name in LAUNCHER or name == OPTIONS:
                arguments.set(name, value)
        with _small_environment(declared):
            SparkContext._ensure_initialized(conf=arguments)  # noqa: SLF001 - as `SparkContext` does
        return context_settings


def own_class(session: SparkSession, name: str) -> Any:
    """Return a class of Millstream's own jar, by its name below the package `millstream`.

    By its whole name, py4j finds a class without looking for packages in all jars.
    """
    jvm: Any = session._jvm  # noqa: SLF001 -- there is no public way to a class of the JVM
    return getattr(jvm, f"millstream.{name}")


def implementing(interface: str) -> type:
    """Return what makes a class one that Java may call through Py4J: its attribute `Java`."""
    return type("Java", (), {"implements": (interface,)})


@contextmanager
def _small_environment(declared: Collection[str]) -> Iterator[None]:
    """Reduce the environment of the process that PySpark starts, which always passes all of its own on."""
    gateway: Any = java_gateway
    popen = gateway.Popen

    def started(*arguments: Any, env: Mapping[str, str], **options: Any) -> Any:
        options["preexec_fn"] = ignore_group_signals
        process = popen(*arguments, env=for_spark(env, declared), **options)
        remember_process(process)
        return process

    gateway.Popen = started
    try:
        yield
    finally:
        gateway.Popen = popen


@contextmanager
def options_in_file(
    settings: Mapping[str, str], hidden: frozenset[str], folder: Path
) -> Iterator[dict[str, str]]:
    """Replace Java's options by `@file` if they are hidden; only the owner can read the file."""
    if OPTIONS not in hidden:
        yield dict(settings)
        return
    handle, path = tempfile.mkstemp(prefix="java-options-", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(settings[OPTIONS])
        yield {**settings, OPTIONS: f"@{path}"}
    finally:
        Path(path).unlink()
