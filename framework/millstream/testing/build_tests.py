"""Runs the tests around a build in its Spark: unit tests before it, data tests after it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from msgspec import Struct

from millstream.compile.data_tests import tested_relation
from millstream.compile.manifest import ManifestNode
from millstream.results.test_results import TestResult
from millstream.testing.outcomes import TestOutcome, outcome_of
from millstream.testing.session import TestSession
from millstream.testing.variants import ProjectOptions

AT_ONCE = 3
"""Unit tests at a time: while Spark plans one, the tasks of others use the cores."""


class EndedTests(Struct, frozen=True):
    """All tests of one kind of one relation, or of one SQL file, as they ended."""

    title: str
    kind: str
    outcomes: tuple[TestOutcome, ...]
    seconds: float


Show = Callable[[EndedTests], None]


def session_of_build(root: Path, options: ProjectOptions) -> TestSession:
    """Return what all tests of a build share; Spark is that of the build, or starts with the first test."""
    session = TestSession(root, options)
    session.needs_jars = True
    return session


def run_nodes(session: TestSession, nodes: Iterable[ManifestNode], show: Show) -> list[TestResult]:
    """Run tests, unit tests a few at a time, and show those of each relation as they end."""
    results: list[TestResult] = []
    ordered = sorted(nodes, key=lambda node: (title_of(node), node.path, node.meta.get("line", 0), node.id))
    pool = ThreadPoolExecutor(AT_ONCE, "unit-test")
    try:
        running = {
            node.id: pool.submit(_timed, session, node) for node in ordered if node.kind == "unit_test"
        }
        for title, group in groupby(ordered, title_of):
            began, outcomes, kind = time.monotonic(), [], ""
            for node in group:
                kind = node.kind
                waiting = running.get(node.id)
                ended, seconds = _timed(session, node) if waiting is None else waiting.result()
                outcomes.append(ended)
                results.append(ended.result(session, node, seconds))
            show(EndedTests(title, kind, tuple(outcomes), time.monotonic() - began))
    finally:
        pool.shutdown(cancel_futures=True)
    return results


def _timed(session: TestSession, node: ManifestNode) -> tuple[TestOutcome, float]:
    began = time.monotonic()
    return outcome_of(session, node), time.monotonic() - began


def title_of(node: ManifestNode) -> str:
    """Name what a test is of: a relation, or the SQL file of the test."""
    if node.kind != "test":
        return node.depends_on[0].name
    return tested_relation(node).name if node.test else node.path
