"""Borrows Spark's JVM from the warm session of a project."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.find_spark_home import _find_spark_home

from millstream.engine.spark.jvm import LAUNCHER, OPTIONS, options_in_file
from millstream.engine.spark.jvm_process import remember_process
from millstream.local.environment import for_spark
from millstream.local.java import java_program
from millstream.local.warm_session.jvm import JvmRequest
from millstream.local.warm_session.lease import BorrowedJvm, SessionConnection, connect_session
from millstream.local.warm_session.use import allowed_session

_PROGRAM = "millstream.spark.WarmJvm"
_CLASS_PATH = "spark.driver.extraClassPath"
_OF_TERMINALS = ("TERM", "SHELL")
"""What differs between the terminals of a user, and no pipeline reads."""


def request_of(
    settings: Mapping[str, str], profile: Mapping[str, str], heap: int, declared: Sequence[str]
) -> JvmRequest:
    """Return what a command needs that has these settings of Spark, of which the profile gives some."""
    environment = for_spark(os.environ, declared)
    for name in _OF_TERMINALS:
        environment.pop(name, None)
    options = settings[OPTIONS].split()
    java = java_program()
    parts = (
        pyspark.__version__,
        *(option for option in options if not option.startswith(("-Dlog4j2.", "-XX:Shared", "-XX:Dump"))),
        *(f"{name}={value}" for name, value in sorted(profile.items())),
        f"{java} {java.stat().st_mtime_ns}" if java else "",
    )
    key = hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
    jars = tuple(filter(None, settings.get(_CLASS_PATH, "").split(os.pathsep)))
    return JvmRequest(key, environment, str(Path.cwd()), jars, heap)


@contextmanager
def launching(
    settings: Mapping[str, str], hidden: frozenset[str], session: SessionConnection
) -> Iterator[tuple[str, ...]]:
    """Yield the command that starts the JVM, which must have started when the block ends."""
    with options_in_file(settings, hidden, session.folder) as launched:
        command = [str(Path(_find_spark_home(), "bin", "spark-submit"))]
        for name in (*LAUNCHER, OPTIONS):
            if launched.get(name):
                command += ["--conf", f"{name}={launched[name]}"]
        yield (*command, "--class", _PROGRAM, "spark-internal")


def use_borrowed(jvm: BorrowedJvm) -> None:
    """Let PySpark use the JVM."""
    variables = {"PYSPARK_GATEWAY_PORT": str(jvm.port), "PYSPARK_GATEWAY_SECRET": jvm.secret}
    os.environ.update(variables)
    try:
        SparkContext._ensure_initialized(conf=SparkConf(loadDefaults=False))  # noqa: SLF001 - as `SparkContext` does
    finally:
        for name in variables:
            del os.environ[name]
    gateway: Any = SparkContext._gateway  # noqa: SLF001
    gateway.proc = jvm
    remember_process(jvm)


def session_for(log_configuration: str) -> SessionConnection | None:
    """Return a connection to the project's warm session, if this command may use one."""
    use = allowed_session()
    return connect_session(use, log_configuration) if use else None


def is_running() -> bool:
    """Return whether this process has a JVM already."""
    return SparkContext._gateway is not None  # noqa: SLF001


def give_back(forget: Callable[[], None]) -> bool:
    """Give the JVM back, if it is borrowed, once PySpark has forgotten it; return whether it was.

    The session stops the Spark context in it, which takes longer than a short command wants to wait.
    """
    gateway: Any = SparkContext._gateway  # noqa: SLF001
    jvm = getattr(gateway, "proc", None)
    if not isinstance(jvm, BorrowedJvm):
        return False
    forget()
    jvm.give_back()
    return True
