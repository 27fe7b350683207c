"""Random projects run on Spark in micro-batches, cut, restarted, optimized and grouped in random ways.

What they store must be what an independent oracle says, in all of these ways; what is refused is refused in all.
`MILLSTREAM_STREAMING_PROJECTS=1000 uv run pytest -m long -s framework/tests/streaming` runs a long search, and with
`MILLSTREAM_STREAMING_FIRST=500` and half of the projects, its second half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.long import BUILDS, FIRST, STREAMED
from support.spark import SPARK_WARNINGS

from streaming.fixtures import FOLDER, read, text_of
from streaming.generator import SEEDS, SOURCES, project
from streaming.given import given
from streaming.running import Report, check, corners
from streaming.shrinking import shrink_report

pytestmark = SPARK_WARNINGS

AT_ONCE = 2


def search(
    bench, seeds: Iterable[int], tell: Callable[[str], None] = lambda _: None
) -> tuple[str, dict[int, Report]]:
    """Check projects, and say how many there were of which kind; `tell` hears of each hundred."""

    def one(seed: int) -> tuple[int, Report]:
        made = project(seed)
        return seed, check(bench, made, given(made, seed), corners(seed))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found: dict[int, Report] = {}
        for seed, report in pool.map(one, seeds):
            found[seed] = report
            if len(found) % 100 == 0:
                tell(_said(found))
    return _said(found), found


def _said(found: dict[int, Report]) -> str:
    refused = Counter(code for report in found.values() for code in report.refused)
    accepted = sum(not report.refused for report in found.values())
    differing = [seed for seed, report in found.items() if report.differences]
    return (
        f"{len(found)} projects: {accepted} accepted, {len(found) - accepted} refused {dict(refused)}; "
        f"{sum(r.queries for r in found.values())} queries ran {sum(r.micro_batches for r in found.values())} micro-batches; differing: {differing}"
    )


def again(bench, ways: int | None) -> dict[str, list[str]]:
    """Run what differed once, in its first ways or in all; return what differs."""

    def one(path: Path) -> tuple[str, list[str]]:
        made, rows, corners = read(path, SOURCES, SEEDS)
        return path.stem, check(bench, made, rows, corners[:ways]).differences

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return {name: said for name, said in pool.map(one, sorted(FOLDER.glob("*.json"))) if said}


@pytest.mark.long
def test_what_differed_once(bench):
    assert again(bench, 1) == {}


@pytest.mark.long
@pytest.mark.skipif(BUILDS < 4, reason="the ways that differed are tested")
def test_what_differed_once_in_all_ways(bench):
    assert again(bench, None) == {}


@pytest.mark.long
def test_a_few_projects(bench):
    said, found = search(bench, [26, 27, 32, 52, 56])
    assert {seed: report.differences for seed, report in found.items() if report.differences} == {}, said


@pytest.mark.long
def test_projects(bench, capsys):
    def tell(said: str) -> None:
        with capsys.disabled():
            print(f"\n{said}", flush=True)  # noqa: T201 - for people

    said, found = search(bench, range(FIRST, FIRST + STREAMED), tell)
    tell(said)
    differing = [seed for seed, report in found.items() if report.differences]
    fixtures = [shrink_report(bench, seed) for seed in differing[:3]]
    assert differing == [], "\n".join(
        [said, *(d for seed in differing for d in found[seed].differences), *fixtures]
    )
    accepted = sum(not report.refused for report in found.values())
    assert accepted >= 0.6 * len(found), said


def test_a_wrong_row_would_be_found(bench):
    """An oracle that agrees with everything would prove nothing."""
    made = project(27)
    rows = given(made, 27)
    ways = corners(27)
    fewer = {name: records[: len(records) // 2] for name, records in rows.items()}
    assert check(bench, made, rows, ways, told=fewer).differences != []


def test_a_project_is_read_back_as_it_was_written(tmp_path):
    made = project(3)
    rows = given(made, 3)
    path = tmp_path / "one.json"
    path.write_text(text_of("", made, rows, corners(3)))
    assert read(path, SOURCES, SEEDS) == (made, rows, corners(3))
