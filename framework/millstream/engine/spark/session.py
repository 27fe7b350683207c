"""Starts and stops Spark for a target."""

from __future__ import annotations

import logging
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.engine.spark import log
from millstream.engine.spark.borrowed import give_back, prepared_jvm
from millstream.engine.spark.jvm import keep_classes, start_jvm
from millstream.engine.spark.jvm_process import is_ended, is_submitted
from millstream.engine.spark.start_settings import Amount, secret_names, spark_settings
from millstream.local.java import check_folder
from millstream.project.values import Target


@contextmanager
def running_spark(
    name: str,
    target: Target,
    jars: Sequence[Path],
    folder: Path,
    *,
    amount: Amount = "few",
    queries: int = 0,
    profile: Target | None = None,
) -> Iterator[SparkSession]:
    """Start Spark, and stop it; meanwhile, an archive of its classes is made if this machine has none.

    For few records, its JVM is that of the project's warm session. `profile` is the target as profiles.yml
    has it, if `target` is made of it.
    """
    with prepared_jvm(target, jars, folder, amount, queries, profile or target) as archives:
        spark = start_spark(name, target, jars, folder, archives.options, amount=amount, queries=queries)
        try:
            archives.start(spark)
            yield spark
        except (Py4JError, ConnectionError) as error:
            if (code := lost_jvm(error)) is None:
                raise
            raise MillstreamError(jvm_lost(code, folder / "spark.log")) from None
        finally:
            if lost_jvm() is not None:
                _forget_jvm()
            elif not give_back(_forget_jvm):
                _stop_or_forget(spark, folder)


def _stop_or_forget(spark: SparkSession, folder: Path) -> None:
    try:
        stop_spark(spark)
    except (Py4JError, ConnectionError) as error:  # it died since
        if (code := lost_jvm(error)) is None:
            raise
        _forget_jvm()
        if not is_ended():
            raise MillstreamError(jvm_lost(code, folder / "spark.log")) from None


def stop_spark(spark: SparkSession) -> None:
    """Stop Spark from another thread: a signal may have ended a call of this one before it read the answer.

    Each thread has a connection to the JVM, and the next call would read the answer of the last one.
    """
    with ThreadPoolExecutor(1) as thread:
        thread.submit(_stop, spark).result()


def _stop(spark: SparkSession) -> None:
    stores = state_stores(spark)
    try:
        # `stop` holds a lock that the thread's work needs, and would wait for that for 5 minutes.
        stores.stopMaintenanceTaskWithoutLock()
        stores.stop()
    finally:
        spark.stop()


def state_stores(spark: SparkSession) -> Any:
    """Return Spark's object `StateStore`, which maintains the states of all queries in a thread.

    `SparkContext.stop` does not end that thread; in a JVM that lives on, it would write "SparkEnv not active,
    cannot do maintenance on StateStores" to the log.
    """
    jvm: Any = spark._jvm  # noqa: SLF001 -- there is no public API for it
    package = jvm.org.apache.spark.sql.execution.streaming.state
    return getattr(getattr(package, "StateStore$"), "MODULE$")


_SOON = 10.0
"""Seconds until the system reports the end of a JVM that no longer answers: it frees much memory first."""


def lost_jvm(error: BaseException | None = None) -> int | None:
    """Return the exit code of the JVM that this process started; None if it still runs.

    After an `error` of a JVM that does not answer, wait briefly for its end.
    """
    gateway: Any = SparkContext._gateway  # noqa: SLF001 -- there is no public API for the process
    if getattr(gateway, "proc", None) is None:  # also if spark-submit started the JVM
        return None
    try:
        code: int = gateway.proc.wait(_SOON if isinstance(error, Py4JNetworkError | ConnectionError) else 0)
    except subprocess.TimeoutExpired:
        return None
    return code


def jvm_lost(code: int, log: Path) -> Diagnostic:
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    remedy = f"start it again: no data is lost; see {log} for Java's last output, `dmesg` for lack of memory"
    return Diagnostic("MS883", f"Spark's JVM ended ({how})", None, remedy)


def _forget_jvm() -> None:
    """Drop PySpark's references to a JVM that has ended."""
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    SparkContext._active_spark_context = None  # noqa: SLF001
    SparkSession._instantiatedSession = None  # noqa: SLF001


def start_spark(
    name: str,
    target: Target,
    jars: Sequence[Path],
    folder: Path,
    classes: str = "",
    *,
    amount: Amount = "few",
    queries: int = 0,
) -> SparkSession:
    """Start the JVM and return its first session; each query gets a separate session for its views."""
    check_folder(folder)
    # Workers must run the driver's Python, not the first on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = spark_settings(target, jars, folder, classes, amount=amount, queries=queries)
    settings |= {"spark.app.name": name, "spark.master": str(target.settings.get("master", "local[*]"))}
    # PySpark would import it only after the JVM has started, which takes as long again.
    threading.Thread(target=import_module, args=("pandas",), name="pandas", daemon=True).start()
    # Millstream reports the errors of queries itself; PySpark would also write them to the terminal, as JSON
    # with their stack traces (`PySparkException._log_exception`).
    for logger in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(logger).disabled = True
    logging.getLogger().addFilter(_is_no_lost_command)
    try:
        with log.redirected_stderr(folder), _own_interrupts():
            if is_submitted():
                settings.pop("spark.jars", None)  # spark-submit has them already
            context_settings = start_jvm(settings, secret_names(target), folder, target.env_vars)
            spark = _builder(context_settings).getOrCreate()
    except (PySparkException, Py4JError) as error:
        causes = re.findall(r"(?:[\w.$]+(?:Exception|Error)): ([^\n]+)", str(error))
        cause = causes[-1] if causes else str(error).strip().partition("\n")[0]
        message = f"can't start Spark on {target.settings.get('master')}: {cause}"
        remedy = f"fix `master` or `spark:` of target '{target.name}'; see {folder} for Java's output"
        raise MillstreamError(Diagnostic("MS873", message, target.location, remedy)) from None
    keep_classes(spark)
    return spark


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep the handler of Ctrl-C, which `SparkContext` replaces by its own if the main thread creates it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _builder(settings: Mapping[str, str]) -> SparkSession.Builder:
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder


_REPORTED = frozenset({"Exception while sending command.", "KeyboardInterrupt while sending command."})


def _is_no_lost_command(record: logging.LogRecord) -> bool:
    """Hide py4j's log of a JVM that has ended, and of Ctrl-C: Millstream reports what py4j raises."""
    return record.msg not in _REPORTED
