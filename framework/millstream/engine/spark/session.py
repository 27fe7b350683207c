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
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace
from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.engine.spark import log, worker_daemon
from millstream.engine.spark.borrowed import (
    give_back,
    is_running,
    launching,
    request_of,
    session_for,
    use_borrowed,
)
from millstream.engine.spark.class_archive import ClassArchives, class_archives
from millstream.engine.spark.functions import EXTENSIONS
from millstream.engine.spark.jvm import OPTIONS, start_jvm
from millstream.engine.spark.jvm_process import is_ended, is_submitted
from millstream.local.java import check_folder
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

_LOOKED_UP = {
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
    with _prepared_jvm(target, jars, folder, amount, queries, profile or target) as archives:
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


@contextmanager
def _prepared_jvm(
    target: Target, jars: Sequence[Path], folder: Path, amount: Amount, queries: int, profile: Target
) -> Iterator[ClassArchives]:
    """Borrow the JVM of the warm session, if the command may; yield the archives of one that starts."""
    may_borrow = amount == "few" and is_local(target) and not is_submitted() and not is_running()
    log_configuration = log.write_log_config(folder).as_uri() if may_borrow else ""
    session = session_for(log_configuration) if may_borrow else None
    with ExitStack() as stack:
        if session is None:
            yield stack.enter_context(
                class_archives(jars if is_local(target) and not is_submitted() else None)
            )
            return
        settings = spark_settings(target, jars, folder, queries=queries)
        profile_settings = given_settings(profile)
        request = request_of(
            settings, profile_settings, heap_of(target, queries, memory_of_machine()), target.env_vars
        )
        jvm = session.borrow_running(request)
        if jvm is not None:
            use_borrowed(jvm)
            yield stack.enter_context(class_archives(None))
            return
        jars = [*jars, *(path for jar in session.running_jars if (path := Path(jar)) not in {*jars})]
        heap = max(request.heap, session.running_heap)
        archives = stack.enter_context(class_archives(jars))
        launched = spark_settings(target, jars, session.folder, archives.options, queries=queries)
        launched[HEAP] = f"{heap}m"
        with launching(launched, secret_names(target), session) as command:
            names = tuple(map(str, jars))
            jvm = session.borrow_new(
                replace(request, jars=names, heap=heap, command=command, log=str(session.folder / "java.log"))
            )
        if jvm is not None:
            use_borrowed(jvm)
        else:
            session.close()
        yield archives


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
    _keep_classes(spark)
    return spark


def _keep_classes(spark: SparkSession) -> None:
    """Keep the classes that PySpark looks up again and again while a query runs.

    For each part of a name that is not a whole one, Java searches all jars for a class of that name, in each
    package that PySpark imports (TypeUtil.getClass). PySpark needs one for each observed row. At the end of
    each map that it reads, it needs another one fourteen times, to see what exception `next()` raised
    (`convert_exception`). That was a twelfth of what a run with small batches executed.
    """
    jvm: Any = spark._jvm  # noqa: SLF001 -- there is no public way to the JVM
    for name, whole in _LOOKED_UP.items():
        *packages, last = name.split(".") if name.startswith("py4j") else [name]
        member = jvm
        for part in packages:
            setattr(member, part, getattr(member, part))
            member = getattr(member, part)
        setattr(member, last, JavaClass(whole, jvm._gateway_client))  # noqa: SLF001


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


def _is_no_lost_command(record: logging.LogRecord) -> bool:
    """Hide py4j's log of a JVM that has ended; Millstream reports the error that py4j raises."""
    return record.msg != "Exception while sending command."
