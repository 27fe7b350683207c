"""The last line of a build, which counts models and tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from millstream.cli.diagnostics import count_of

if TYPE_CHECKING:
    from millstream.cli.output import Part
    from millstream.results.run_results import RunResults
    from millstream.results.test_results import TestResult

_SHORTEST = 0.1
"""Seconds of a phase that is named."""
_BEFORE = "passed before"
_PASSED = {"pass": "passed", _BEFORE: _BEFORE}
_WRONG = {"error": "failed", "fail": "failed", "warn": "warned", "skipped": "skipped"}


def format_build_summary(
    results: RunResults,
    tests: Collection[TestResult],
    seconds: float,
    *,
    up_to_date: bool = False,
    phases: Mapping[str, float] | None = None,
) -> Part:
    """Return the text and its style; with the seconds of each phase, which add up to all seconds."""
    models = Counter[str](node.status for node in results.results if node.id.kind == "model")
    ended = Counter[str](_BEFORE if test.unchanged else test.status for test in tests)
    done = "up to date" if up_to_date else "built"
    parts = [", ".join([f"{count_of(models['success'], 'model')} {done}", *describe_failures(models)])]
    if counts := [*_message(ended, _PASSED), *_message(ended, _WRONG)]:
        (number, message), *rest = counts
        parts.append(
            ", ".join([f"{count_of(number, 'test')} {message}", *(f"{n} {message}" for n, message in rest)])
        )
    failed = models["error"] or ended["fail"] or ended["error"]
    times = ", ".join(
        f"{name} {duration:.1f} s" for name, duration in (phases or {}).items() if duration >= _SHORTEST
    )
    return (
        f"{'; '.join(parts)}; {seconds:.1f} s{f' ({times})' if times else ''}",
        "bold red" if failed else "bold green",
    )


_PHASES = ("start", "unit tests", "models and data tests")


def phase_seconds(began: float, ends: Sequence[float], seconds: float) -> dict[str, float]:
    """Return the seconds of each phase, rounded so that their sum is the rounded total.

    `ends` are the times at which the first phases ended; the last one is the end, such as that of Spark.
    """
    if not ends:
        return {}
    names = (*_PHASES[: len(ends)], "end")
    times = [0.0, *(round(end - began, 1) for end in ends), round(seconds, 1)]
    return {name: after - before for name, (before, after) in zip(names, pairwise(times), strict=True)}


def describe_failures(statuses: Mapping[str, int]) -> list[str]:
    """Say how many did not succeed, by what became of them."""
    return [f"{number} {message}" for number, message in _message(statuses, _WRONG)]


def _message(statuses: Mapping[str, int], words: Mapping[str, str]) -> list[tuple[int, str]]:
    """Return the numbers, except 0, and the words for what became of them."""
    totals = Counter(dict.fromkeys(words.values(), 0))
    for status, message in words.items():
        totals[message] += statuses.get(status, 0)
    return [(number, message) for message, number in totals.items() if number]
