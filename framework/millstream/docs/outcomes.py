"""The results of the last build and the last tests, by id of the entry."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from millstream.core.node_id import NodeId
from millstream.docs.site_input import SiteInput
from millstream.docs.values import Coverage, EntryResult, Fact, MissedWay
from millstream.results.run_results import ModelResult, RunResults
from millstream.results.test_results import TestResult, TestResults

BAD = frozenset(("error", "fail"))
_WORST = ("error", "skipped", "success")


def entry_results(material: SiteInput) -> dict[NodeId, EntryResult]:
    results: dict[NodeId, EntryResult] = {}
    if material.results:
        results |= _of_build(material.results)
    if material.tests:
        results |= _of_tests(material.tests)
    return results


def coverage_by_model(material: SiteInput) -> dict[NodeId, Coverage]:
    """Return the coverage of unit tests by id of a model; lines only while its file is as it was then."""
    nodes, tests = material.manifest.nodes, material.tests
    coverage: dict[NodeId, Coverage] = {}
    for model in tests.coverage if tests else ():
        if model.id in nodes:
            stale = model.checksum != nodes[model.id].checksum
            missed = tuple(MissedWay(0 if stale else way.line, way.message) for way in model.missed)
            coverage[model.id] = Coverage(model.tests, model.ways, model.reached, model.run, stale, missed)
    return coverage


def _of_build(run: RunResults) -> dict[NodeId, EntryResult]:
    queries: dict[str, list[ModelResult]] = {}
    for result in run.results:
        if result.query:
            queries.setdefault(result.query, []).append(result)
    read = {
        id_: EntryResult("read", run.command, run.started, facts) for id_, facts in _read(queries).items()
    }
    by_query = {
        NodeId("query", name): EntryResult(
            _worst(results), run.command, run.started, tuple(_of_query(results))
        )
        for name, results in queries.items()
    }
    by_model = {
        result.id: EntryResult(
            result.status, run.command, run.started, tuple(_counted(result)), result.message
        )
        for result in run.results
    }
    return read | by_query | by_model


def _read(queries: Mapping[str, Iterable[ModelResult]]) -> dict[NodeId, tuple[Fact, ...]]:
    """Return for each topic how many of its records each query read."""
    by_topic: dict[NodeId, list[Fact]] = {}
    for name, results in queries.items():
        reads = {id_: rows for result in results for id_, rows in result.reads.items()}
        for id_, rows in reads.items():
            by_topic.setdefault(id_, []).append(Fact(f"records read by {name}", f"{rows:,}"))
    return {id_: tuple(facts) for id_, facts in by_topic.items()}


def _worst(results: Iterable[ModelResult]) -> str:
    statuses = {result.status for result in results}
    return next(status for status in _WORST if status in statuses)


def _of_query(results: Sequence[ModelResult]) -> Iterator[Fact]:
    reads = {id_: rows for result in results for id_, rows in result.reads.items()}
    yield Fact("records read", f"{max(result.rows_read for result in results):,}")
    for id_, rows in sorted(reads.items()):
        yield Fact(f"of {id_.name}", f"{rows:,}")
    yield Fact("seconds", f"{max(result.seconds for result in results):,.1f}")


def _counted(result: ModelResult) -> Iterator[Fact]:
    if result.query:
        yield Fact("query", result.query)
    yield Fact("rows read by its query", f"{result.rows_read:,}")
    if result.rows_changed is not None:
        yield Fact("rows changed", f"{result.rows_changed:,}")
    if (changes := result.changes) is not None and changes.computed:
        yield Fact("keys touched", f"{changes.touched:,}" if changes.touched else "all")
        yield Fact("rows computed", f"{changes.computed:,}")
        kinds = (f"{rows:,} {kind}" for kind, rows in changes.by_kind.items())
        yield Fact("rows stored", ", ".join(kinds))
    if result.rows_written is not None:
        yield Fact("records written", f"{result.rows_written:,}")
    for name, counts in (("skipped", result.skipped), ("dead letters", result.dead_letters)):
        if any(counts.values()):
            texts = (f"{count:,} of {id_.name}" for id_, count in counts.items() if count)
            yield Fact(name, ", ".join(texts))
    yield Fact("seconds", f"{result.seconds:,.1f}")


def _of_tests(run: TestResults) -> dict[NodeId, EntryResult]:
    results = (*run.earlier, *run.results)
    return {
        NodeId.parse(result.id): _of_test(result, result.ran or run.started)
        for result in results
        if result.kind != "python"
    }


def _of_test(result: TestResult, started: str) -> EntryResult:
    """Return a test's result, with the rows of a unit test but not of a data test, which are user data."""
    messages = [str(diagnostic.get("message", "")) for diagnostic in result.diagnostics]
    only_details = not messages and result.status in {"warn", "skipped"}
    return EntryResult(
        result.status,
        "test",
        started,
        (Fact("seconds", f"{result.seconds:,.1f}"),),
        result.details.removeprefix("Skipped: ") if only_details else "\n".join(messages),
        result.details if result.kind == "unit_test" and not only_details else "",
    )
