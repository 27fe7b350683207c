"""What needs attention in a project: failures, and entries without description, tests, owners or readers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from millstream.docs.outcomes import BAD
from millstream.docs.values import Coverage, EntryColumns, HealthFinding, SiteEntry

_READ = frozenset(("source", "seed", "model"))


def find_health(
    entries: Sequence[SiteEntry],
    columns: Sequence[EntryColumns],
    used: frozenset[int],
    covered: Mapping[int, Coverage],
) -> tuple[HealthFinding, ...]:
    """Return every kind of finding, also those without an entry; `used` are functions that SQL calls.

    Findings about builds and tests are omitted if there are no results.
    """
    read = {parent for e in entries if e.kind not in {"test", "unit_test", "query"} for parent in e.parents}

    def finding(
        name: str,
        title: str,
        why: str,
        among: Callable[[SiteEntry], bool],
        bad: Callable[[int, SiteEntry], bool],
    ) -> HealthFinding:
        candidates = [(number, entry) for number, entry in enumerate(entries) if among(entry)]
        return HealthFinding(name, title, why, tuple(n for n, e in candidates if bad(n, e)), len(candidates))

    ran = (
        finding(
            "failed", "Models that failed, or were skipped",
            "The last build did not complete them; their topics and tables are behind.",
            lambda e: e.kind == "model" and bool(e.last), lambda _, e: e.last in {"error", "skipped"},
        ),
        finding(
            "failing", "Tests that fail, or warn",
            "Their conditions did not hold in the last run.",
            lambda e: e.kind in {"test", "unit_test"} and bool(e.last), lambda _, e: e.last in {*BAD, "warn"},
        ),
        finding(
            "uncovered", "Models that unit tests do not reach in full",
            "Branches and filters that no row reaches are untested.",
            lambda e: e.kind == "model" and bool(covered),
            lambda n, _: n in covered and (not covered[n].run or covered[n].reached < covered[n].ways),
        ),
    )  # fmt: skip
    return (
        *(kind for kind in ran if kind.of),
        finding(
            "undocumented", "Without a description",
            "Only their authors know what they contain.",
            lambda e: e.kind in {*_READ, "function"}, lambda _, e: not e.about,
        ),
        finding(
            "columns", "With columns that have no description",
            "Readers have to guess what a column means.",
            lambda e: e.kind in _READ and e.columns > 0,
            lambda n, _: any(not column.about for column in columns[n].columns),
        ),
        finding(
            "untested", "Models without a test",
            "Wrong rows are only found by their readers.",
            lambda e: e.kind == "model", lambda _, e: not e.tests,
        ),
        finding(
            "unowned", "Without an owner",
            "It is unclear who is responsible when they change or break.",
            lambda e: e.kind in {"source", "model", "exposure"}, lambda _, e: not e.owner,
        ),
        finding(
            "unused", "Unused sources, seeds and functions",
            "They are declared, but nothing uses them.",
            lambda e: e.kind in {"source", "seed", "function"},
            lambda n, e: n not in (used if e.kind == "function" else read),
        ),
        finding(
            "dead-ends", "Models without readers",
            "Such a view is never computed; a topic or table may have readers that no exposure declares.",
            lambda e: e.kind == "model", lambda n, _: n not in read,
        ),
    )  # fmt: skip
