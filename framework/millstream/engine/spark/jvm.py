"""Starts Spark's JVM without secrets in its command line, which every user of the machine can read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaClass
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


_NAMED_BY_PYSPARK = {
    "PythonSQLUtils": "org.apache.spark.sql.api.python.PythonSQLUtils",
    "PythonUtils": "org.apache.spark.api.python.PythonUtils",
    "functions": "org.apache.spark.sql.functions",
    **{
        name: name
        for name in (
            "org.apache.spark.sql.classic.SparkSession",
            "org.apache.spark.sql.classic.SparkSession$",
            "org.apache.spark.sql.functions",
            "py4j.reflection.TypeUtil",
        )
    },
}
"""Classes by the names that PySpark has for them."""


def keep_classes(spark: SparkSession) -> None:
    """Keep the classes that PySpark looks up again and again while a query runs.

    For each part of a name that is not a whole one, Java searches all jars for a class of that name, in each
    package that PySpark imports (TypeUtil.getClass). PySpark needs one for each observed row. At the end of
    each map that it reads, it needs another one fourteen times, to see what exception `next()` raised
    (`convert_exception`). That was a twelfth of what a run with small batches executed.
    """
    jvm: Any = spark._jvm  # noqa: SLF001 -- there is no public way to the JVM
    for name, class_name in _NAMED_BY_PYSPARK.items():
        *packages, last = name.split(".") if name.startswith("py4j") else [name]
        member = jvm
        for part in packages:
            setattr(member, part, getattr(member, part))
            member = getattr(member, part)
        setattr(member, last, JavaClass(class_name, jvm._gateway_client))  # noqa: SLF001
