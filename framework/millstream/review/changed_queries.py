"""Finds the stored models whose state can differ between versions, so that only their queries are planned.

A cheap comparison comes first: models whose SQL and inputs are literally the same are skipped.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial

import msgspec

from millstream.plan.nodes import Node, Output, Plan, TopicScan
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.context import Context, Hints
from millstream.plan.optimizer.rules.prune_columns import prune_columns
from millstream.plan.table import shape
from millstream.queries.meanings import Meanings
from millstream.queries.references import reference_outputs
from millstream.queries.topology import Topology, physical_settings
from millstream.queries.upstream_filters import Passing


def differing(old: Topology, new: Topology) -> set[str]:
    """Return the stored models whose queries can have different signatures."""
    was, now = _digests(old, _edited(old, new)), _digests(new, _edited(new, old))
    changed = {model for model in was.keys() | now.keys() if was.get(model) != now.get(model)}
    # For these, only the plan differs, which may be for the sake of other models.
    same = {model for model in changed if was.get(model, ())[1:] == now.get(model, ("", ""))[1:]}
    before, after = _narrowed(old, same), _narrowed(new, same)
    return {model for model in changed if model not in before or before[model] != after.get(model)}


def _edited(topology: Topology, other: Topology) -> set[str]:
    """Return the stored models that are not literally the same in another version."""
    settings, others = physical_settings(topology.catalog), physical_settings(other.catalog)
    if (settings.rules, settings.switched_off) != (others.rules, others.switched_off):
        return {output.model for output in topology.written.outputs}
    fingerprints = {node.fingerprint for node in other.written.order}
    functions = {
        name
        for name, digest in settings.functions.items()
        if (others.functions.get(name), others.libraries.get(name)) != (digest, settings.libraries.get(name))
    }
    seeds = {id_ for id_, digest in settings.seeds.items() if others.seeds.get(id_) != digest}
    edited: set[str] = set()
    changed: set[int] = set()
    for node in topology.written.order:  # models after those whose topics and tables they read
        if (
            node.fingerprint not in fingerprints
            or any(id(upstream) in changed for upstream in node.inputs)
            or not (seeds | edited).isdisjoint(_relations(node))
            or (functions and not functions.isdisjoint(node.functions))
        ):
            changed.add(id(node))
            if isinstance(node, Output):
                edited.add(node.model)
    return edited


def _digests(topology: Topology, models: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return for each model digests of all that determines the signature of its query."""
    settings = physical_settings(topology.catalog)
    functions = settings.functions
    written = {output.model: output.input for output in topology.written.outputs}
    rows = Passing(written, Meanings(functions, written))
    at_rest = _AtRest(topology, settings.seeds)
    digests: dict[str, tuple[str, ...]] = {}
    for output in topology.plan.outputs:
        if output.model not in models:
            continue
        order = in_order((output,))
        called = sorted({name for node in order for name in node.functions})
        topics = {node.relation for node in order if isinstance(node, TopicScan)}
        digests[output.model] = (
            output.fingerprint,
            rows.rows(written[output.model]),
            *(f"{name} {functions.get(name, '')} {settings.libraries.get(name, {})}" for name in called),
            # A topic contains what its model wrote.
            *sorted(written[topic].fingerprint for topic in topics if topic in written),
            *at_rest.of(output.model),
        )
    references = reference_outputs(topology.plan, topology.catalog.references)
    return digests | {output.model: (output.fingerprint,) for output in references}


class _AtRest:
    """The content of all seeds and models that models read, directly or not, with their tests."""

    def __init__(self, topology: Topology, seeds: Mapping[str, str]) -> None:
        self._outputs = {output.model: output for output in topology.written.outputs}
        self._seeds = seeds
        self._sql_reads: dict[str, set[str]] = {}
        """The relations that the SQL of each model reads."""

    def of(self, model: str) -> list[str]:
        contents: dict[str, str] = {}
        waiting = [self._read(model)]
        while waiting:
            for relation in waiting.pop():
                if relation in self._seeds:
                    contents[relation] = self._seeds[relation]
                elif relation in self._outputs and relation not in contents:
                    output = self._outputs[relation]
                    contents[relation] = output.fingerprint
                    waiting.append(self._read(relation) | _relations(output))
        return sorted(f"{relation} {content}" for relation, content in contents.items())

    def _read(self, model: str) -> set[str]:
        if model not in self._sql_reads:
            nodes = in_order((self._outputs[model].input,))
            self._sql_reads[model] = {relation for node in nodes for relation in _relations(node)}
        return self._sql_reads[model]


def _relations(node: Node) -> set[str]:
    """Return the relations that a node reads, also in subqueries."""
    reads = {relation for expression in node.expressions for relation in expression.reads}
    return reads | {node.relation} if node.relation else reads


def _narrowed(topology: Topology, models: Collection[str]) -> dict[str, str]:
    """Return for each model the fingerprint of its output without columns that only others read."""
    settings = physical_settings(topology.catalog)
    outputs = [output for output in topology.plan.outputs if output.model in models]
    if prune_columns.__name__ not in settings.rules:
        return {output.model: output.fingerprint for output in outputs}
    off = msgspec.msgpack.encode(settings.switched_off, order="deterministic")
    fingerprints: dict[str, str] = {}
    for output in outputs:
        compute = partial(_pruned, output, settings.switched_off)
        key = b"narrowed" + off + shape((output,))
        fingerprints[output.model] = topology.cache.text(key, compute) if topology.cache else compute()
    return fingerprints


def _pruned(output: Output, switched_off: Mapping[str, frozenset[str]]) -> str:
    plan = Plan((output,))
    plan, _ = prune_columns(plan, Context(plan, Hints(), switched_off))
    return plan.outputs[0].fingerprint
