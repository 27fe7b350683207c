"""Converts errors of Spark to diagnostics: what happened, where, and what to do."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.known_failures import END, KnownFailure, first_group
from millstream.core.text import Location
from millstream.engine.python.dead_workers import WORKER_DIED
from millstream.engine.python.worker import FAILED
from millstream.engine.queries.causes import RAISED, Cause, causes_of
from millstream.queries.checks import WRONG_ROW, WRONG_ROW_REMEDY
from millstream.sources.registry import source_failures
from millstream.stores.failures import TABLE_OF_PATH, missing_table
from millstream.stores.registry import store_failures

_LONGEST = 600


def _find(failure: KnownFailure, causes: Iterable[Cause]) -> re.Match[str] | None:
    """Find what a cause says of a failure; what only stands in a plan is not a failure."""
    texts = [cause.text for cause in causes if not failure.raised or cause.condition == RAISED]
    texts = ["\n".join(texts)] if failure.joined else texts
    return next((match for text in texts if (match := failure.pattern.search(text))), None)


_LOST = (
    r"(Partition [\w.-]+-\d+'s offset was changed from \d+ to \d+|[^\n]*offsets? .{0,40}out of range[^\n]*"
    r"|Some data may have been lost[^\n]*)"
)
_RAISED = (
    r"\[((?:(?:BINARY_)?ARITHMETIC_OVERFLOW|INTERVAL_[A-Z_.]+|(?:DIVIDE|REMAINDER)_BY_ZERO|CAST_[A-Z_]+"
    r"|NUMERIC_[A-Z_.]+|INVALID_[A-Z_.]+|DATETIME_[A-Z_]+|CANNOT_PARSE_[A-Z_.]+|NULL_MAP_KEY|ILLEGAL_DAY_OF_WEEK"
    r"|MALFORMED_RECORD_IN_PARSING[A-Z_.]*|COLLECTION_SIZE_LIMIT_EXCEEDED[A-Z_.]*|SCALAR_SUBQUERY_TOO_MANY_ROWS"
    r"|USER_RAISED_EXCEPTION)"
    r"\][^\n]*?)(?: SQLSTATE|\n|$)"
)

_NULL_KEYS = (
    "leave out rows whose key is NULL, or give them one with coalesce; where a topic follows a table: in "
    "that table"
)

_FAILURES: tuple[KnownFailure, ...] = (
    KnownFailure(
        "MS861",
        re.compile(re.escape(FAILED) + r"((?:model [^\n]*?: )?\w+\(\): [^\n]*?)" + END),
        first_group,
        "fix the function, or set on_bad_record: skip or dead_letter for its model",
    ),
    KnownFailure(
        "MS861",
        re.compile(r"Python worker exited unexpectedly"),
        lambda _: WORKER_DIED,
        "the function, or a library that it calls, ended the process or used too much memory",
    ),
    KnownFailure(
        "MS863",
        re.compile(re.escape(WRONG_ROW) + r"(model [^\n]*?)" + END),
        lambda match: f"a row fails a data test: {first_group(match)}",
        WRONG_ROW_REMEDY,
        raised=True,
    ),
    *source_failures(),
    KnownFailure(
        "MS645",
        re.compile(r"bad table: (source [^\n]*?)" + END),
        first_group,
        "declare the column with nullable: true",
        raised=True,
    ),
    KnownFailure(
        "MS862",
        # Python raises it, too. No plan has the numbers.
        re.compile(r"(bad record: topic \S+, partition \d+, offset \d+: [^\n]*?)" + END),
        first_group,
        "fix the producer of these records, or set on_bad_record: skip or dead_letter for the source",
    ),
    KnownFailure(
        "MS892",
        re.compile(r"(the schema registry at \S+ refuses \S+: HTTP 40[13])"),
        first_group,
        "check username and password, or token, of schema_registry in profiles.yml",
    ),
    KnownFailure(
        "MS891",
        re.compile(
            r"(the schema registry at \S+ (?:does not answer(?:: \w+| with a schema)|refuses \S+: HTTP \d+))"
        ),
        first_group,
        "check the url of schema_registry in profiles.yml, and the network",
    ),
    KnownFailure(
        "MS858",
        # Before what is said of offsets: it names that of the record, too.
        re.compile(r"InvalidTimestampException"),
        lambda _: "Kafka refuses a record, because its time is too far from now for the topic",
        "let the topic have any time: kafka-configs.sh --alter --entity-type topics --entity-name … "
        "--add-config message.timestamp.after.max.ms=9223372036854775807; or leave out such rows",
    ),
    *store_failures(),
    missing_table(rf"\[PATH_NOT_FOUND[.\w]*\][^\n]*?{TABLE_OF_PATH}"),
    KnownFailure(
        "MS859",
        # As Spark says it, and delta-rs.
        re.compile(
            r"FILE_NOT_EXIST\][^\n]*? reading file (?:file:)?(\S+?)\. "
            r"|Object at location (\S+) not found"
        ),
        lambda match: f"a file no longer exists: {match[1] or match[2]}",
        "restore it; or `millstream build --full-refresh` removes the rows and state of the models, and "
        "starts over",
    ),
    KnownFailure(
        "MS699",
        re.compile(r"FAILED_READ_FILE[\w.]*\][^\n]*? reading file (\S+?)\. "),
        lambda match: f"file: {match[1]}: it can't be read",
        "restore the file; Spark's log says what is wrong with it",
    ),
    KnownFailure(
        "MS864",
        re.compile(_LOST),
        lambda match: f"the next records to read no longer exist: {first_group(match)}",
        "the topic was recreated, or its retention is too short: `millstream build --full-refresh` removes "
        "the rows and state of the models, and starts over with the records that the topic has now",
    ),
    KnownFailure(
        "MS865",
        re.compile(r"(UnknownTopicOrPartition|This server does not host this topic-partition)"),
        lambda _: "a topic that it reads or writes no longer exists",
        "if it is written, `millstream build` creates it; if it is read, `millstream build --full-refresh` "
        "creates it, removes the rows and state of the models, and starts over",
    ),
    KnownFailure(
        "MS867",
        re.compile(r"(\w*Authorization\w*Exception[^\n]*|\w*Authentication\w*Exception[^\n]*)"),
        lambda match: f"Kafka denies access: {first_group(match)}",
        "request the permission, or fix user and password in profiles.yml",
    ),
    KnownFailure(
        "MS810",
        re.compile(r"(ProducerFenced|InvalidProducerEpoch|InvalidTxnState|InvalidPidMapping)Exception"),
        lambda _: (
            "Kafka ended the transaction of a batch before it was sent, because it took too long or another "
            "process has taken over; the batch was not sent"
        ),
        "let batches be smaller with max_rows_per_trigger, or set transaction.timeout.ms in `producer`",
    ),
    KnownFailure(
        "MS819",
        re.compile(r"(InvalidTxnTimeoutException|transaction timeout is larger than the maximum)"),
        lambda _: "Kafka does not allow transactions to take that long",
        "set transaction.timeout.ms in `producer` to at most the brokers' transaction.max.timeout.ms",
    ),
    KnownFailure(
        "MS885",
        re.compile(r"Expiring \d+ record\(s\) for ([\w.-]+)-\d+:(\d+) ?ms"),
        lambda match: f"Kafka accepted no record of topic '{match[1]}' for {int(match[2]) // 1000} s",
        "check that the topic exists and its brokers answer; unsent records are sent again",
    ),
    KnownFailure(
        "MS849",
        re.compile(r"Compacted topic cannot accept message without key in topic partition ([\w.-]+)-\d+"),
        lambda match: f"topic '{match[1]}' is compacted, and the key of a record is NULL",
        _NULL_KEYS,
    ),
    KnownFailure(
        "MS849",
        # What Kafka's client says of the other records of the batch, often first.
        re.compile(r"part of a batch which had one more more invalid records"),
        lambda _: "Kafka refuses a record: its topic is compacted, and its key is NULL",
        _NULL_KEYS,
    ),
    KnownFailure(
        "MS695",
        re.compile(r"RecordTooLargeException: (?:The message is (\d+) bytes)?"),
        lambda match: (
            f"a record {f'of {int(match[1]):,} bytes ' if match[1] else ''}is larger than Kafka accepts"
        ),
        "set max.request.size in `producer` to more bytes, and max.message.bytes of the topic; or go on "
        "without such records by on_bad_record: skip or dead_letter of the model",
    ),
    KnownFailure(
        "MS884",
        re.compile(r"(No space left on device|Disk quota exceeded)"),
        lambda match: f"a disk is full: {first_group(match)}",
        "free space where checkpoints, tables or Spark's own files are; the query then continues by itself",
    ),
    KnownFailure(
        "MS800",
        re.compile(r"Too many open files"),
        lambda _: "the process has as many open files as it may have",
        "let it open more before you start it, such as by `ulimit -n 100000`",
    ),
    KnownFailure(
        "MS868",
        re.compile(r"\[DUPLICATED_MAP_KEY\] (Duplicate map key [^\n]*? was found)"),
        lambda match: f"DUPLICATED_MAP_KEY: {first_group(match)}",
        "give a map each key once, or let the last value win: `spark.sql.mapKeyDedupPolicy: LAST_WIN` in "
        "`spark:` of the target",
    ),
    KnownFailure(
        "MS868",
        re.compile(_RAISED),
        lambda match: first_group(match).replace("]", ":", 1),
        "use a function that returns NULL instead, such as try_cast or try_divide, or filter out such rows; "
        "a text next to another type in a comparison or UNION is cast to it: cast the other side to string",
    ),
)


_OF_TARGET = frozenset({"MS891", "MS892"})
"""Failures of what profiles.yml names."""
OF_RECORDS = frozenset({"MS862", *_OF_TARGET})
"""Failures to decode records, whatever reads them."""
OF_SOURCES = frozenset({"MS645", "MS699", "MS859", "MS862"})
"""Failures to read a source, which YAML declares."""
PASSING = frozenset({"MS810", "MS819", "MS884", "MS885", "MS800", *_OF_TARGET})
"""Failures of what all models need: none of them fails on its own."""


_SLOW_START = "Python worker failed to connect back"


def is_slow_start(error: BaseException) -> bool:
    """Whether a Python worker took longer to start than the ten seconds that Spark always waits."""
    return _SLOW_START in str(error)


def problem_of(
    who: str, error: BaseException, log: str, target_location: Location | None = None
) -> Diagnostic:
    """Return why something failed; `who` names its outputs."""
    if isinstance(error, MillstreamError):
        return error.diagnostics[0]
    causes = [cause for cause in causes_of(error) if not cause.is_planning]
    for failure in _FAILURES:
        if match := _find(failure, causes):
            location = target_location if failure.code in _OF_TARGET else None
            remedy = failure.remedy if isinstance(failure.remedy, str) else failure.remedy(match)
            return Diagnostic(failure.code, f"{who}: {failure.message(match)}", location, remedy)
    text = str(error)
    if type(error).__module__.startswith(_OURS) and not isinstance(error, OSError):
        return _internal(who, error)
    return Diagnostic("MS860", f"{who}: {_shortest(text)}{_in_python(text)}", None, f"see Spark's log: {log}")


_OURS = ("builtins", "millstream.")
"""Modules whose exceptions nobody outside of Millstream raises here."""


def _internal(who: str, error: BaseException) -> Diagnostic:
    """Return an internal error as the failure of a query: the others go on."""
    if os.environ.get("MILLSTREAM_TRACEBACK"):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    message = f"{who}: internal error in Millstream: {type(error).__name__}: {error}{where}"
    remedy = "set MILLSTREAM_TRACEBACK=1 to see the traceback, and report it"
    return Diagnostic("MS900", message, None, remedy)


@contextmanager
def reporting_spark_errors(who: str, log: str, target_location: Location | None = None) -> Iterator[None]:
    """Raise an error of Spark as a diagnostic; `who` names the outputs."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise MillstreamError(problem_of(who, error, log, target_location)) from None


_WRAPPERS = re.compile(r"\[(?:STREAM_FAILED|FOREACH_BATCH_USER_FUNCTION_ERROR)\]")
_RAISED_IN_PYTHON = re.compile(
    r"Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n)+(?!py4j)[\w.]*?(\w+: [^\n]+)"
)


_FRAME = re.compile(r'File "([^"\n]+)", line (\d+), in ([\w<>]+)')
_LIBRARIES = re.compile(
    r"(?:^|/)(?:pyspark|py4j|pyarrow|pandas|site-packages|dist-packages|millstream)/|^<|/lib/python3"
)


def _in_python(text: str) -> str:
    """Return where in Python it was raised: in the project's code, or, by a worker, in what called it."""
    if not _RAISED_IN_PYTHON.search(text) or "Python Proxy" in text:  # called by the JVM in our own process
        return ""
    frames = _FRAME.findall(text.rpartition("Traceback (most recent call last):")[2])
    if not frames:
        return ""
    of_project = [frame for frame in frames if not _LIBRARIES.search(frame[0])]
    ours = [frame for frame in frames if "/millstream/" in frame[0]]
    path, line, function = (of_project or ours or frames)[-1]
    where = "" if of_project else "a Python worker, not a function of the project: "
    return f" (in {where}{function}, {'/'.join(path.split('/')[-2:])}:{line})"


def _shortest(text: str) -> str:
    """Return the last cause that Spark names, without Java or Python stack traces."""
    text = _WRAPPERS.sub("", text)
    raised = _RAISED_IN_PYTHON.findall(text)
    conditions = re.findall(r"\[[A-Z_]+(?:\.[A-Z_]+)*\][^\n]*", text)
    causes = re.findall(r"Caused by: [\w.$]+: ([^\n]+)", text)
    first = text.strip().partition("\n")[0]
    best = (*raised[-1:], *conditions[:1], *causes[-1:], first)[0]
    text = re.sub(r"\s*SQLSTATE: \w+.*", "", best)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
