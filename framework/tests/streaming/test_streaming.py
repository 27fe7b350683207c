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
from streaming.records import generated_records
from streaming.running import Report, check, corners
from streaming.shrinking import shrink_report

pytestmark = SPARK_WARNINGS

AT_ONCE = 2


def search(
    runner, seeds: Iterable[int], tell: Callable[[str], None] = lambda _: None
) -> tuple[str, dict[int, Report]]:
    """Check projects, and say how many there were of which kind; `tell` hears of each hundred."""

    def one(seed: int) -> tuple[int, Report]:
        generated_project = project(seed)
        return seed, check(
            runner, generated_project, generated_records(generated_project, seed), corners(seed)
        )

    with ThreadPoolExecutor(AT_ONCE) as pool:
        reports: dict[int, Report] = {}
        for seed, report in pool.map(one, seeds):
            reports[seed] = report
            if len(reports) % 100 == 0:
                tell(_message(reports))
    return _message(reports), reports


def _message(reports: dict[int, Report]) -> str:
    refused = Counter(code for report in reports.values() for code in report.refused)
    accepted = sum(not report.refused for report in reports.values())
    differing = [seed for seed, report in reports.items() if report.differences]
    return (
        f"{len(reports)} projects: {accepted} accepted, {len(reports) - accepted} refused {dict(refused)}; "
        f"{sum(r.queries for r in reports.values())} queries ran {sum(r.micro_batches for r in reports.values())} micro-batches; differing: {differing}"
    )


def again(runner, ways: int | None) -> dict[str, list[str]]:
    """Run what differed once, in its first ways or in all; return what differs."""

    def one(path: Path) -> tuple[str, list[str]]:
        saved_project, rows, corners = read(path, SOURCES, SEEDS)
        return path.stem, check(runner, saved_project, rows, corners[:ways]).differences

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return {name: message for name, message in pool.map(one, sorted(FOLDER.glob("*.json"))) if message}


@pytest.mark.long
def test_what_differed_once(query_runner):
    assert again(query_runner, 1) == {}


@pytest.mark.long
@pytest.mark.skipif(BUILDS < 4, reason="the ways that differed are tested")
def test_what_differed_once_in_all_ways(query_runner):
    assert again(query_runner, None) == {}


@pytest.mark.long
def test_a_few_projects(query_runner):
    message, reports = search(query_runner, [26, 27, 32, 52, 56])
    assert {seed: report.differences for seed, report in reports.items() if report.differences} == {}, message


@pytest.mark.long
def test_projects(query_runner, capsys):
    def tell(message: str) -> None:
        with capsys.disabled():
            print(f"\n{message}", flush=True)  # noqa: T201 - for people

    message, reports = search(query_runner, range(FIRST, FIRST + STREAMED), tell)
    tell(message)
    differing = [seed for seed, report in reports.items() if report.differences]
    fixtures = [shrink_report(query_runner, seed) for seed in differing[:3]]
    assert differing == [], "\n".join(
        [message, *(d for seed in differing for d in reports[seed].differences), *fixtures]
    )
    accepted = sum(not report.refused for report in reports.values())
    assert accepted >= 0.6 * len(reports), message


def test_a_wrong_row_would_be_found(query_runner):
    """An oracle that agrees with everything would prove nothing."""
    generated_project = project(27)
    rows = generated_records(generated_project, 27)
    ways = corners(27)
    fewer = {name: records[: len(records) // 2] for name, records in rows.items()}
    assert check(query_runner, generated_project, rows, ways, oracle_records=fewer).differences != []


def test_a_project_is_read_back_as_it_was_written(tmp_path):
    generated_project = project(3)
    rows = generated_records(generated_project, 3)
    path = tmp_path / "one.json"
    path.write_text(text_of("", generated_project, rows, corners(3)))
    assert read(path, SOURCES, SEEDS) == (generated_project, rows, corners(3))
