"""What Spark says of a failed query, as a diagnostic: what happened, where, and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from millstream.errors import Diagnostic, MillstreamError
from millstream.physical.checks import WRONG_ROW
from millstream.runner.worker import FAILED

_LONGEST = 600


class _Known(NamedTuple):
    code: str
    pattern: re.Pattern[str]
    say: Callable[[re.Match[str]], str]
    remedy: str


def _first(match: re.Match[str]) -> str:
    return match.group(1).strip()


_END = r"(?: SQLSTATE|\n|$)"
_LOST = (
    r"(Partition [\w.-]+-\d+'s offset was changed from \d+ to \d+|[^\n]*offsets? .{0,40}out of range[^\n]*"
    r"|Some data may have been lost[^\n]*)"
)
_RAISED = (
    r"\[((?:ARITHMETIC_OVERFLOW|DIVIDE_BY_ZERO|CAST_[A-Z_]+|NUMERIC_[A-Z_.]+|INVALID_[A-Z_.]+|DATETIME_[A-Z_]+)"
    r"\][^\n]*?)(?: SQLSTATE|\n|$)"
)

_KNOWN = (
    _Known(
        "MS861",
        re.compile(re.escape(FAILED) + r"((?:model [^\n]*?: )?\w+\(\): [^\n]*?)" + _END),
        _first,
        "mend the function, or give its model on_bad_record: skip or dead_letter",
    ),
    _Known(
        "MS863",
        re.compile(re.escape(WRONG_ROW) + r"(model [^\n]*?)" + _END),
        lambda match: f"a row is not what a data test demands: {_first(match)}",
        "mend what makes such rows, or choose severity: drop, dead_letter or warn",
    ),
    _Known(
        "MS862",
        re.compile(r"(bad record: topic \S+, partition \d+, offset \d+: [^\n]*?)" + _END),
        _first,
        "mend what sends such records, or set on_bad_record: skip or dead_letter for the source",
    ),
    _Known(
        "MS864",
        re.compile(_LOST),
        lambda match: f"records that it was to read next are gone: {_first(match)}",
        "the topic was made anew, or its retention was too short: build again with --full-refresh",
    ),
    _Known(
        "MS865",
        re.compile(r"(UnknownTopicOrPartition|This server does not host this topic-partition)"),
        lambda _: "a topic that it reads or writes is not there any more",
        "create it, or run `millstream build`, which does",
    ),
    _Known(
        "MS867",
        re.compile(r"(\w*Authorization\w*Exception[^\n]*|\w*Authentication\w*Exception[^\n]*)"),
        lambda match: f"Kafka refuses it: {_first(match)}",
        "ask for the permission, or mend user and password in profiles.yml",
    ),
    _Known(
        "MS885",
        re.compile(r"Expiring \d+ record\(s\) for ([\w.-]+)-\d+:(\d+) ?ms"),
        lambda match: f"Kafka took no record of topic '{match[1]}' for {int(match[2]) // 1000} s",
        "look whether the topic is there and its brokers answer; what was not sent is sent again",
    ),
    _Known(
        "MS884",
        re.compile(r"(No space left on device|Disk quota exceeded)"),
        lambda match: f"a disk is full: {_first(match)}",
        "make room where checkpoints, tables or Spark's own files lie; it goes on by itself then",
    ),
    _Known(
        "MS868",
        re.compile(_RAISED),
        lambda match: _first(match).replace("]", ":", 1),
        "use a form that gives NULL instead, such as try_cast or try_divide, or filter such rows before",
    ),
)


def problem_of(who: str, error: BaseException, log: str) -> Diagnostic:
    """Tell why something failed, by the name of what it makes."""
    if isinstance(error, MillstreamError):
        return error.diagnostics[0]
    said = str(error)
    for known in _KNOWN:
        if match := known.pattern.search(said):
            return Diagnostic(known.code, f"{who}: {known.say(match)}", None, known.remedy)
    return Diagnostic("MS860", f"{who}: {_shortest(said)}", None, f"what Spark says of it is in {log}")


def jvm_lost(code: int, log: Path) -> Diagnostic:
    """Tell that Spark's JVM is gone."""
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    remedy = f"start it again: nothing is lost; {log} has what Java said last, `dmesg` whether memory ran out"
    return Diagnostic("MS883", f"Spark's JVM ended ({how})", None, remedy)


_AROUND = re.compile(r"\[(?:STREAM_FAILED|FOREACH_BATCH_USER_FUNCTION_ERROR)\]")
_RAISED_IN_PYTHON = re.compile(
    r"Traceback \(most recent call last\):\n(?:[ \t][^\n]*\n)+(?!py4j)[\w.]*?(\w+: [^\n]+)"
)


def _shortest(said: str) -> str:
    """Return the last cause that Spark names, without its Java, and without Python's way there."""
    said = _AROUND.sub("", said)
    raised = _RAISED_IN_PYTHON.findall(said)
    conditions = re.findall(r"\[[A-Z_]+(?:\.[A-Z_]+)*\][^\n]*", said)
    causes = re.findall(r"Caused by: [\w.$]+: ([^\n]+)", said)
    first = said.strip().partition("\n")[0]
    best = (*raised[-1:], *conditions[:1], *causes[-1:], first)[0]
    text = re.sub(r"\s*SQLSTATE: \w+.*", "", best)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
