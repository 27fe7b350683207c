"""What builds have counted becomes hints, where YAML says nothing.

Two figures can be told honestly. A stateless model's own topic gets one record for each record of a source
that all filters between them keep: how many of them is the share that the filters keep together, and that of
one model where those of the others are known. And what a build reads came since the build before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import blake2b

from msgspec import Struct
from msgspec.structs import replace

from millstream.optimizer.context import Hints
from millstream.plan.nodes import Decode, Filter, Output, Plan, TopicScan
from millstream.results import Came, Counted, Kept, RunResults

LEAST_ROWS, LEAST_SECONDS = 100, 60.0
"""Of fewer records, or in a shorter time, nothing can be told."""


class Measured(Struct, frozen=True):
    keeps: Mapping[str, float] = {}
    """By id of a model: the share of rows that its filter keeps."""
    rows_per_second: Mapping[str, float] = {}
    """By id of a source."""
    counts: Mapping[str, tuple[int, float]] = {}
    """By id: what it was told from: records, and those kept of them or seconds."""


class _Chain(Struct, frozen=True):
    """What happens to a record between two topics, where each gives at most one."""

    source: str
    filters: tuple[str, ...]
    """The models whose filters it passes."""
    digest: str


# -- what a build counted


def with_counts(results: RunResults, before: RunResults | None, plan: Plan) -> RunResults:
    """Add what a build counted to what those before it had; `plan` is the one as written."""
    old = before.counted if before else Counted()
    return replace(results, counted=Counted(_kept(results, before, plan), _came(results, before, old)))


def _kept(results: RunResults, before: RunResults | None, plan: Plan) -> dict[str, Kept]:
    outputs = {output.model: output for output in plan.outputs}
    old = before.counted.kept if before else {}
    known = {each.id for each in before.results} if before else set()
    joined = {each.query for each in before.results} if before else set()
    found = {id_: each for id_, each in old.items() if id_ in outputs}
    for each in results.results:
        if each.status != "success" or each.rows_written is None or each.id not in outputs:
            continue
        if each.query in joined and each.id not in known:
            continue  # it may have got older records, too, when it joined the query
        chain = _chain(outputs[each.id], outputs, each.reads)
        if chain is None:
            continue
        was = found.get(each.id)
        same = was is not None and (was.source, was.digest) == (chain.source, chain.digest)
        read, written = (was.read, was.written) if was is not None and same else (0, 0)
        found[each.id] = Kept(
            chain.source, read + each.reads[chain.source], written + each.rows_written, chain.digest
        )
    return found


def _came(results: RunResults, before: RunResults | None, old: Counted) -> dict[str, Came]:
    """Sum up what came since the build before, which had read all that was there."""
    found = dict(old.came)
    if before is None or results.full_refresh:
        return found
    seconds = (
        datetime.fromisoformat(results.started) - datetime.fromisoformat(before.started)
    ).total_seconds()
    went_on = {
        (each.query, source) for each in before.results if each.status == "success" for source in each.reads
    }
    rows: dict[str, int] = {}
    for each in results.results:
        for source, count in each.reads.items():
            if each.status == "success" and (each.query, source) in went_on and source.startswith("source."):
                rows[source] = max(rows.get(source, 0), count)
    if seconds > 0:
        for source, count in rows.items():
            so_far = found.get(source, Came(0, 0.0))
            found[source] = Came(so_far.rows + count, so_far.seconds + seconds)
    return found


def _chain(output: Output, outputs: Mapping[str, Output], reads: Mapping[str, int]) -> _Chain | None:
    """Follow a model down to the topic that its query reads; None where rows are made, joined or gathered."""
    filters: dict[str, None] = {}
    digests = [output.input.fingerprint]
    node = output.input
    while True:
        match node:
            case Filter():
                filters |= dict.fromkeys(node.models)
                node = node.input
            case Decode() if not node.unique_by:
                node = node.input
            case _ if node.one_to_one:
                (node,) = node.inputs
            case TopicScan() if node.relation in reads:
                return _Chain(node.relation, tuple(filters), _digest(digests))
            case TopicScan() if node.relation in outputs:
                node = outputs[node.relation].input  # its topic is written, but not read
                digests.append(node.fingerprint)
            case _:
                return None


def _digest(parts: Iterable[str]) -> str:
    return blake2b("\n".join(parts).encode(), digest_size=12).hexdigest()


# -- what follows from it


def measured(results: RunResults | None, plan: Plan, declared: Hints | None = None) -> Measured:
    """Return what results tell of a plan as written; of models that have changed since, nothing.

    What is declared of one filter helps to tell what another one on the same way keeps.
    """
    if results is None:
        return Measured()
    shares: dict[str, tuple[tuple[str, ...], Kept]] = {}
    outputs = {output.model: output for output in plan.outputs}
    for id_, kept in sorted(results.counted.kept.items()):
        if id_ in outputs and kept.read >= LEAST_ROWS:
            chain = _chain(outputs[id_], outputs, {kept.source: kept.read})
            if chain is not None and (chain.source, chain.digest) == (kept.source, kept.digest):
                shares[id_] = (chain.filters, kept)
    keeps, counts = _solved(shares, declared.keeps if declared else {})
    rates: dict[str, float] = {}
    for id_, came in sorted(results.counted.came.items()):
        if came.seconds >= LEAST_SECONDS:
            rates[id_] = round(came.rows / came.seconds, 2)
            counts[id_] = (came.rows, came.seconds)
    return Measured(keeps, rates, counts)


def _solved(
    shares: Mapping[str, tuple[tuple[str, ...], Kept]], declared: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, tuple[int, float]]]:
    """Tell the share of each model from those of models over it, as long as one of a chain is not known.

    Shares are rounded: filters that keep about as much stay in the order in which they are written.
    """
    exact = dict(declared)
    counts: dict[str, tuple[int, float]] = {}
    waiting = sorted(shares.items(), key=lambda each: (-each[1][1].read, each[0]))
    going = True
    while going:
        going = False
        for _, (filters, kept) in waiting:
            unknown = [model for model in filters if model not in exact]
            before = 1.0
            for model in filters:
                before *= exact.get(model, 1.0)
            if len(unknown) == 1 and before > 0:
                exact[unknown[0]] = min(1.0, kept.written / kept.read / before)
                counts[unknown[0]] = (round(kept.read * before), kept.written)
                going = True
    return {model: round(exact[model], 2) for model in counts}, counts


def with_measured(declared: Hints, found: Measured, plan: Plan | None = None) -> Hints:
    """Return hints in which YAML wins; `plan` as written says where in models' SQL their filters stand."""
    keeps = {**found.keeps, **declared.keeps}
    return replace(
        declared,
        keeps=keeps,
        rows_per_second={**found.rows_per_second, **declared.rows_per_second},
        asked=dict(_places(keeps, plan)) if plan else {},
    )


def _places(keeps: Mapping[str, float], plan: Plan) -> Iterable[tuple[tuple[str, int, int], float]]:
    for node in plan.order:
        if isinstance(node, Filter) and len(node.models) == 1 and node.models[0] in keeps:
            (model,) = node.models
            for each in node.conditions:
                if each.stop > each.start:
                    yield (model, each.start, each.stop), keeps[model]
