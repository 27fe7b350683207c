"""What all unit tests together reach of each model, as values and as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from millstream.compile.manifest import ManifestNode
from millstream.results.test_results import MissedPath, ModelCoverage
from millstream.testing.coverage.paths import CoveragePath, RowCoverage


def summarize_coverage(
    runs: Sequence[tuple[str, RowCoverage]], nodes: Mapping[str, ManifestNode]
) -> tuple[ModelCoverage, ...]:
    """Add up the runs for each model; each run comes with the id of the tested model."""
    ways: dict[CoveragePath, int] = {}
    for _, run in runs:
        for way, rows in run.ways.items():
            ways[way] = ways.get(way, 0) + rows
    models: list[ModelCoverage] = []
    for node in nodes.values():
        if node.kind != "model":
            continue
        model_ways = {way: rows for way, rows in ways.items() if way.model == node.id}
        missed = tuple(MissedPath(way.label, way.line) for way, rows in model_ways.items() if not rows)
        models.append(
            ModelCoverage(
                node.id,
                node.path,
                sum(tested == node.id for tested, _ in runs),
                len(model_ways),
                len(model_ways) - len(missed),
                missed,
                any(node.id in run.models for _, run in runs),
                node.checksum,
            )
        )
    return tuple(models)


def coverage_lines(models: Sequence[ModelCoverage]) -> Iterator[str]:
    """Yield a line for each model, and below it its branches that are not reached, with their locations."""
    width = max((len(model.id) for model in models), default=0)
    for model in models:
        name = model.id.partition(".")[2]
        counts = f"{model.reached} of {model.ways} branches" if model.ways else "no branches"
        yield f"{name:<{width}}  {model.tests:>3} tests  {counts if model.run else 'no unit test runs it'}"
        for missed in model.missed:
            location = f"{model.path}:{missed.line}: " if missed.line else ""
            yield f"    {location}{missed.said}"
    reached, ways = sum(model.reached for model in models), sum(model.ways for model in models)
    run = sum(model.run for model in models)
    yield f"{run} of {len(models)} models, {reached} of {ways} branches of filters, CASE and IF"
