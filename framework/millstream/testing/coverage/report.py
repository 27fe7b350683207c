"""What all unit tests together reach of each model, and the lines that show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from millstream.manifest import ManifestNode
from millstream.tested import Missed, ModelCoverage
from millstream.testing.coverage.ways import RowCoverage, Way


def summarize_coverage(
    runs: Sequence[tuple[str, RowCoverage]], nodes: Mapping[str, ManifestNode]
) -> tuple[ModelCoverage, ...]:
    """Return what all tests reach together, model by model; each run comes with the tested model."""
    ways: dict[Way, int] = {}
    for _, run in runs:
        for way, rows in run.ways.items():
            ways[way] = ways.get(way, 0) + rows
    found: list[ModelCoverage] = []
    for node in nodes.values():
        if node.kind != "model":
            continue
        own = {way: rows for way, rows in ways.items() if way.model == node.id}
        missed = tuple(Missed(way.label, way.line) for way, rows in own.items() if not rows)
        found.append(
            ModelCoverage(
                node.id,
                node.path,
                sum(tested == node.id for tested, _ in runs),
                len(own),
                len(own) - len(missed),
                missed,
                any(node.id in run.models for _, run in runs),
                node.checksum,
            )
        )
    return tuple(found)


def coverage_lines(models: Sequence[ModelCoverage]) -> Iterator[str]:
    """Yield a line for each model, and below it what is not reached, with where it is written."""
    width = max((len(each.id) for each in models), default=0)
    for each in models:
        name = each.id.partition(".")[2]
        counts = f"{each.reached} of {each.ways} ways" if each.ways else "no branches"
        yield f"{name:<{width}}  {each.tests:>3} tests  {counts if each.run else 'no unit test runs it'}"
        for missed in each.missed:
            place = f"{each.path}:{missed.line}: " if missed.line else ""
            yield f"    {place}{missed.said}"
    reached, ways = sum(each.reached for each in models), sum(each.ways for each in models)
    run = sum(each.run for each in models)
    yield f"{run} of {len(models)} models, {reached} of {ways} ways through filters and branches"
