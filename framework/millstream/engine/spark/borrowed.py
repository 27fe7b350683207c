"""Borrows Spark's JVM from the warm session of a project."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
from msgspec.structs import replace
from pyspark import SparkConf, SparkContext
from pyspark.find_spark_home import _find_spark_home

from millstream.engine.spark import log
from millstream.engine.spark.class_archive import ClassArchives, class_archives
from millstream.engine.spark.jvm import LAUNCHER, OPTIONS, options_in_file
from millstream.engine.spark.jvm_process import is_submitted, remember_process
from millstream.engine.spark.start_settings import Amount, secret_names, spark_settings
from millstream.local.environment import for_spark
from millstream.local.java import java_program
from millstream.local.memory import memory_of_machine
from millstream.local.warm_session.jvm import JvmRequest
from millstream.local.warm_session.lease import BorrowedJvm, SessionConnection, connect_session
from millstream.local.warm_session.use import allowed_session
from millstream.project.heap import HEAP, heap_of
from millstream.project.spark_settings import spark_settings as given_settings
from millstream.project.values import Target, is_local

_PROGRAM = "millstream.spark.WarmJvm"
_CLASS_PATH = "spark.driver.extraClassPath"
_OF_TERMINALS = ("TERM", "SHELL")
"""What differs between the terminals of a user, and no pipeline reads."""


@contextmanager
def prepared_jvm(
    target: Target, jars: Sequence[Path], folder: Path, amount: Amount, queries: int, profile: Target
) -> Iterator[ClassArchives]:
    """Borrow the JVM of the warm session, if the command may; yield the archives of one that starts."""
    may_borrow = amount == "few" and is_local(target) and not is_submitted() and not _is_running()
    session = _session_for(folder) if may_borrow else None
    if session is None:
        with class_archives(jars if is_local(target) and not is_submitted() else None) as archives:
            yield archives
        return
    settings = spark_settings(target, jars, folder, queries=queries)
    heap = heap_of(target, queries, memory_of_machine())
    request = _request_of(settings, given_settings(profile), heap, target.env_vars)
    jvm = session.borrow_running(request)
    if jvm is not None:
        _use_borrowed(jvm)
        with class_archives(None) as archives:
            yield archives
        return
    jars = [*jars, *(path for jar in session.running_jars if (path := Path(jar)) not in {*jars})]
    heap = max(request.heap, session.running_heap)
    with class_archives(jars) as archives:
        settings = spark_settings(target, jars, session.folder, archives.options, queries=queries)
        settings[HEAP] = f"{heap}m"
        request = replace(request, jars=tuple(map(str, jars)), heap=heap)
        jvm = _borrow_new(session, request, settings, secret_names(target))
        if jvm is not None:
            _use_borrowed(jvm)
        else:
            session.close()
        yield archives


def _borrow_new(
    session: SessionConnection, request: JvmRequest, settings: Mapping[str, str], hidden: frozenset[str]
) -> BorrowedJvm | None:
    with _launching(settings, hidden, session) as command:
        log_file = str(session.folder / "java.log")
        return session.borrow_new(replace(request, command=command, log=log_file))


def _request_of(
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
def _launching(
    settings: Mapping[str, str], hidden: frozenset[str], session: SessionConnection
) -> Iterator[tuple[str, ...]]:
    """Yield the command that starts the JVM, which must have started when the block ends."""
    with options_in_file(settings, hidden, session.folder) as launched:
        command = [str(Path(_find_spark_home(), "bin", "spark-submit"))]
        for name in (*LAUNCHER, OPTIONS):
            if launched.get(name):
                command += ["--conf", f"{name}={launched[name]}"]
        yield (*command, "--class", _PROGRAM, "spark-internal")


def _use_borrowed(jvm: BorrowedJvm) -> None:
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


def _session_for(folder: Path) -> SessionConnection | None:
    """Return a connection to the warm session, if this command may use one; its logs go to the folder."""
    use = allowed_session()
    return connect_session(use, log.log_config_of(folder).as_uri()) if use else None


def _is_running() -> bool:
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
