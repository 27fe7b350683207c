"""The last line of a build, which counts models and tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from millstream.cli.diagnostics import count

if TYPE_CHECKING:
    from millstream.cli.output import Part
    from millstream.results import RunResults
    from millstream.tested import TestResult

_SHORTEST = 0.1
"""Seconds of a phase that is named."""
_BEFORE = "passed before"
_PASSED = {"pass": "passed", _BEFORE: _BEFORE}
_WRONG = {"error": "failed", "fail": "failed", "warn": "warned", "skipped": "skipped"}


def summary(
    results: RunResults,
    tests: Collection[TestResult],
    seconds: float,
    *,
    up_to_date: bool = False,
    phases: Mapping[str, float] | None = None,
) -> Part:
    """Return the text and its style; with the seconds of each phase, which add up to all seconds."""
    models = Counter[str](each.status for each in results.results if each.id.startswith("model."))
    ended = Counter[str](_BEFORE if each.unchanged else each.status for each in tests)
    done = "up to date" if up_to_date else "built"
    parts = [", ".join([f"{count(models['success'], 'model')} {done}", *said_wrong(models)])]
    if listed := [*_said(ended, _PASSED), *_said(ended, _WRONG)]:
        (number, said), *rest = listed
        parts.append(", ".join([f"{count(number, 'test')} {said}", *(f"{n} {said}" for n, said in rest)]))
    failed = models["error"] or ended["fail"] or ended["error"]
    times = ", ".join(f"{name} {each:.1f} s" for name, each in (phases or {}).items() if each >= _SHORTEST)
    return (
        f"{'; '.join(parts)}; {seconds:.1f} s{f' ({times})' if times else ''}",
        "bold red" if failed else "bold green",
    )


def phases(began: float, units: tuple[float, float] | None, seconds: float) -> dict[str, float]:
    """Return the seconds of each phase, rounded so that their sum is the rounded total."""
    if units is None:
        return {}
    first, start, end = (round(at - began, 1) for at in (began, *units))
    return {
        "start": start - first,
        "unit tests": end - start,
        "models and data tests": round(seconds, 1) - end,
    }


def said_wrong(statuses: Mapping[str, int]) -> list[str]:
    """Say how many did not succeed, by what became of them."""
    return [f"{number} {said}" for number, said in _said(statuses, _WRONG)]


def _said(statuses: Mapping[str, int], words: Mapping[str, str]) -> list[tuple[int, str]]:
    """Return the numbers, except 0, and the words for what became of them."""
    found = Counter(dict.fromkeys(words.values(), 0))
    for status, said in words.items():
        found[said] += statuses.get(status, 0)
    return [(number, said) for said, number in found.items() if number]
