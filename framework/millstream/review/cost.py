"""What a project costs for each record, in two versions, and what the optimizer does no more, or newly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from msgspec.structs import asdict

from millstream.explain.savings import Cost, cost, names_of_costs
from millstream.manifest import Manifest
from millstream.optimizer.driver import Optimized
from millstream.physical.plan import Groups, Physical
from millstream.plan.nodes import Output
from millstream.review.state import Running
from millstream.review.values import CostRow, EditedLine, NodeChange, RuleChange
from millstream.topology import Topology, hints_of

_WORSE = ("reads", "decodes", "shuffles", "states", "python_calls", "queries")
"""What makes a review say that the cost is higher; the rest is told beside it."""


def cost_rows(old: Topology, new: Topology, found: Running) -> tuple[CostRow, ...]:
    """Return the numbers that differ, by their names in words."""
    before = dict(_numbers(old, found.groups[0], found.old))
    after = dict(_numbers(new, found.groups[1], found.new))
    words = names_of_costs() | {
        "queries": "queries",
        "state_bytes": "bytes of state of the queries above, about",
    }
    return tuple(
        CostRow(words[name], before[name] or 0, number or 0)
        for name, number in after.items()
        if number is not None and before[name] is not None and number != before[name]
    )


def is_higher(rows: Sequence[CostRow]) -> bool:
    """Tell whether anything costs more that is paid for each record."""
    return any(row.after > row.before for row in costs_that_count(rows))


def costs_that_count(rows: Sequence[CostRow]) -> list[CostRow]:
    """Return those that make a change dear; the rest follows from them."""
    words = names_of_costs() | {"queries": "queries"}
    worse = {words[name] for name in _WORSE}
    return [row for row in rows if row.name in worse]


def _numbers(topology: Topology, groups: Groups, physical: Physical) -> Iterator[tuple[str, float | None]]:
    yield "queries", len(groups.models)
    for name, number in asdict(_cost(topology, groups)).items():
        if name not in {"projections", "watermarks"}:  # which cost next to nothing
            yield name, number
    sizes = [query.memory.bytes for query in physical.queries if query.signature.stateful]
    yield "state_bytes", None if None in sizes else sum(size or 0 for size in sizes)


def _cost(topology: Topology, groups: Groups) -> Cost:
    """Return what all queries cost: what several of them need runs in each."""
    left = {output.model: output for output in topology.plan.outputs if output.materialization.stored_as}
    parts: list[list[Output]] = []
    for models in groups.models.values():
        outputs = [left.pop(model) for model in models if model in left]
        if outputs:
            parts.append(outputs)
    parts += [[output] for output in left.values()]
    return cost(topology.plan, parts, hints_of(topology.catalog))


def rule_changes(
    old: Optimized, new: Optimized, nodes: Mapping[str, NodeChange], manifest: Manifest
) -> tuple[RuleChange, ...]:
    """Return what rules do for some models in one version only: for those that came or went it is no news.

    `nodes` are the changes by id, `manifest` is the newer one.
    """
    come = {each.id for each in nodes.values() if each.status in {"added", "removed"}}
    before, after = _done(old, come), _done(new, come)
    found: list[RuleChange] = []
    for status, these, others in (("stopped", before, after), ("started", after, before)):
        for (rule, models), what in these.items():
            if (rule, models) not in others and models:
                found.append(
                    RuleChange(
                        rule=rule,
                        status=status,  # type: ignore[arg-type]  # literals above
                        what="; ".join(what),
                        models=models,
                        place=_place(models, nodes, manifest),
                    )
                )
    return tuple(sorted(found, key=lambda each: (each.status != "stopped", each.rule, each.what)))


def _done(optimized: Optimized, come: AbstractSet[str]) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """Return by rule and models what was done for them; those that came or went are left out."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for step in optimized.steps:
        for change in step.changes:
            said = found.setdefault((step.rule, tuple(sorted(set(change.models) - come))), [])
            if change.what not in said:
                said.append(change.what)
    return found


def _place(models: Sequence[str], nodes: Mapping[str, NodeChange], manifest: Manifest) -> EditedLine | None:
    """Return the first edited line of a model that the rule was about, or else of one that reads it."""
    readers = (n.id for n in manifest.nodes.values() if not set(models).isdisjoint(n.depends_on))
    listed = (place for id_ in (*models, *readers) if id_ in nodes for place in nodes[id_].places)
    return next(listed, None)
