"""Derives hints from the counts of builds, for figures that YAML does not declare.

Two figures can be derived. (1) A stateless model's topic gets one record for each record of a source that
passes all filters between them. The ratio is the share that these filters keep together, or that of one model
if those of the others are known. (2) The records that a build reads arrived since the previous build.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.plan.nodes import Filter, Node, Output, Plan, TopicScan
from millstream.plan.optimizer.context import PlanHints
from millstream.plan.row_by_row import input_of_rows
from millstream.results.run_results import Arrivals, FilterCounts, RunResults, TotalCounts

LEAST_ROWS, LEAST_SECONDS = 100, 60.0
"""Counts below these are not used."""


class MeasuredFigures(Struct, frozen=True):
    keeps: Mapping[NodeId, float] = {}
    """By id of a model: the share of rows that its filter keeps."""
    rows_per_second: Mapping[NodeId, float] = {}
    """By id of a source."""
    counts: Mapping[NodeId, tuple[int, float]] = {}
    """By id, the counts behind a figure: records, and those of them that were kept, or seconds."""


# -- the operators behind a count


class FilterChain(Struct, frozen=True):
    """The operators between two topics, if each record gives at most one."""

    source: NodeId
    filters: tuple[NodeId, ...]
    """The models whose filters it passes."""
    digest: str


def chain_of(
    output: Output, outputs: Mapping[NodeId, Output], reads: Mapping[NodeId, int]
) -> FilterChain | None:
    """Follow a model to the topic that its query reads; None if rows are created, joined or grouped."""
    filters: dict[NodeId, None] = {}
    digests = [output.input.fingerprint]
    node: Node | None = output.input
    while node is not None:
        match node:
            case TopicScan() if node.relation in reads:
                digest = blake2b("\n".join(digests).encode(), digest_size=12).hexdigest()
                return FilterChain(node.relation, tuple(filters), digest)
            case TopicScan() if node.relation in outputs:
                node = outputs[node.relation].input  # its topic is written, but not read
                digests.append(node.fingerprint)
            case _:
                if isinstance(node, Filter):
                    filters |= dict.fromkeys(node.models)
                node = input_of_rows(node)
    return None


# -- counts of a build


def with_counts(results: RunResults, before: RunResults | None, plan: Plan) -> RunResults:
    """Add the counts of a build to those of earlier ones; `plan` is the plan as written."""
    old = before.counted if before else TotalCounts()
    return replace(
        results, counted=TotalCounts(_filter_counts(results, before, plan), _arrived(results, before, old))
    )


def _filter_counts(results: RunResults, before: RunResults | None, plan: Plan) -> dict[NodeId, FilterCounts]:
    outputs = {output.model: output for output in plan.outputs}
    old = before.counted.filters if before else {}
    ids = {result.id for result in before.results} if before else set()
    joined = {result.query for result in before.results} if before else set()
    counts = {id_: filtered for id_, filtered in old.items() if id_ in outputs}
    for result in results.results:
        if result.status != "success" or result.rows_written is None or result.id not in outputs:
            continue
        if result.query in joined and result.id not in ids:
            continue  # joining the query, it may have got older records as well
        chain = chain_of(outputs[result.id], outputs, result.reads)
        if chain is None:
            continue
        last = counts.get(result.id)
        same = last is not None and (last.source, last.digest) == (chain.source, chain.digest)
        more = result.backfilled.get(chain.source, 0)
        read, written = (last.read, last.written) if last is not None and same else (0, 0)
        counts[result.id] = FilterCounts(
            chain.source,
            read + result.reads[chain.source] + more,
            written + result.rows_written,
            chain.digest,
        )
    return counts


def _arrived(results: RunResults, before: RunResults | None, old: TotalCounts) -> dict[NodeId, Arrivals]:
    """Add the records that arrived since the previous build, which had read all records before."""
    arrivals = dict(old.came)
    if before is None or results.full_refresh:
        return arrivals
    seconds = (
        datetime.fromisoformat(results.started) - datetime.fromisoformat(before.started)
    ).total_seconds()
    continued = {
        (result.query, source)
        for result in before.results
        if result.status == "success"
        for source in result.reads
    }
    rows: dict[NodeId, int] = {}
    for result in results.results:
        for source, count in result.reads.items():
            if result.status == "success" and (result.query, source) in continued and source.kind == "source":
                rows[source] = max(rows.get(source, 0), count)
    if seconds > 0:
        for source, count in rows.items():
            earlier = arrivals.get(source, Arrivals(0, 0.0))
            arrivals[source] = Arrivals(earlier.rows + count, earlier.seconds + seconds)
    return arrivals


# -- figures


def measure_figures(
    results: RunResults | None, plan: Plan, declared: PlanHints | None = None
) -> MeasuredFigures:
    """Return the figures that follow from results, except for models that have changed since.

    A share declared for one filter helps to derive that of another filter on the same path.
    """
    if results is None:
        return MeasuredFigures()
    shares: dict[NodeId, tuple[tuple[NodeId, ...], FilterCounts]] = {}
    outputs = {output.model: output for output in plan.outputs}
    for id_, filtered in sorted(results.counted.filters.items()):
        if id_ in outputs and filtered.read >= LEAST_ROWS:
            chain = chain_of(outputs[id_], outputs, {filtered.source: filtered.read})
            if chain is not None and (chain.source, chain.digest) == (filtered.source, filtered.digest):
                shares[id_] = (chain.filters, filtered)
    keeps, counts = _solved(shares, declared.keeps if declared else {})
    rates: dict[NodeId, float] = {}
    for id_, came in sorted(results.counted.came.items()):
        if came.seconds >= LEAST_SECONDS:
            rates[id_] = round(came.rows / came.seconds, 2)
            counts[id_] = (came.rows, came.seconds)
    return MeasuredFigures(keeps, rates, counts)


def _solved(
    shares: Mapping[NodeId, tuple[tuple[NodeId, ...], FilterCounts]], declared: Mapping[NodeId, float]
) -> tuple[dict[NodeId, float], dict[NodeId, tuple[int, float]]]:
    """Derive the share of each model while exactly one share of a chain is unknown.

    Shares are rounded, so that filters with similar shares keep their written order.
    """
    exact = dict(declared)
    counts: dict[NodeId, tuple[int, float]] = {}
    pending = sorted(shares.items(), key=lambda share: (-share[1][1].read, share[0]))
    progress = True
    while progress:
        progress = False
        for _, (filters, filtered) in pending:
            unknown = [model for model in filters if model not in exact]
            before = 1.0
            for model in filters:
                before *= exact.get(model, 1.0)
            if len(unknown) == 1 and before > 0:
                exact[unknown[0]] = min(1.0, filtered.written / filtered.read / before)
                counts[unknown[0]] = (round(filtered.read * before), filtered.written)
                progress = True
    return {model: round(exact[model], 2) for model in counts}, counts


def with_measured(declared: PlanHints, figures: MeasuredFigures, plan: Plan | None = None) -> PlanHints:
    """Return hints in which YAML wins; `plan` as written has the spans of filters in models' SQL."""
    keeps = {**figures.keeps, **declared.keeps}
    return replace(
        declared,
        keeps=keeps,
        rows_per_second={**figures.rows_per_second, **declared.rows_per_second},
        keeps_by_span=dict(_filter_spans(keeps, plan)) if plan else {},
    )


def _filter_spans(
    keeps: Mapping[NodeId, float], plan: Plan
) -> Iterable[tuple[tuple[NodeId, int, int], float]]:
    for node in plan.order:
        if isinstance(node, Filter) and len(node.models) == 1 and node.models[0] in keeps:
            (model,) = node.models
            for condition in node.conditions:
                if condition.stop > condition.start:
                    yield (model, condition.start, condition.stop), keeps[model]
