"""Derives the traits of each kind of node from its inputs' traits. A new kind needs a case in `_traits`."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.plan.nodes import (
    Aggregate,
    Decode,
    Dedupe,
    Expand,
    Filter,
    Join,
    Lookup,
    Maintained,
    Node,
    Opaque,
    Output,
    Project,
    Repartition,
    SeedScan,
    SourceScan,
    Stateful,
    TableScan,
    TemporalJoin,
    TopicScan,
    TraitsLeaf,
    Union,
    Watermark,
)
from millstream.plan.streaming import Kind, SeparateQueryError, UnsupportedSteps, find_conflicts, kind_of
from millstream.plan.traits.aggregates import aggregate_traits
from millstream.plan.traits.changing_rows import changes_by_itself
from millstream.plan.traits.joins import is_bounded, joined_as_of, joined_streams, lookup_traits
from millstream.plan.traits.projections import projection_traits
from millstream.plan.traits.values import NotIncrementalError, Spacing, Traits, key_text, require_append


def derived_traits(node: Node, inputs: list[Traits]) -> Traits:
    """Return the traits of a node over these inputs; raise if a streaming query can't run it correctly."""
    traits = _traits(node, inputs)
    if node.inputs and (called := changes_by_itself(node, inputs, traits.mode)) != traits.changes_by_itself:
        traits = replace(traits, changes_by_itself=called)
    if traits.mode == "static":
        table = next(
            (input_traits.looks_up for input_traits in inputs if input_traits.looks_up), traits.looks_up
        )
        return traits if table == traits.looks_up else replace(traits, looks_up=table)
    own_kind = _own_kind(node, inputs)
    if own_kind is None and all(input_traits.below == traits.below for input_traits in inputs):
        return traits
    below = {
        *traits.below,
        *(kind for input_traits in inputs for kind in input_traits.below),
        *((own_kind,) if own_kind else ()),
    }
    return traits if below == {*traits.below} else replace(traits, below=tuple(sorted(below)))


def traits_in_one_query(node: Node, inputs: list[Traits]) -> Traits:
    """Return the traits that a node would have if it could share a query with its inputs."""
    return derived_traits(node, [replace(input_traits, below=()) for input_traits in inputs])


def _own_kind(node: Node, inputs: list[Traits]) -> Kind | None:
    """Return the kind of a step; raise if it can't run in the query of its inputs."""
    kind = kind_of(node, bounded=isinstance(node, Join) and is_bounded(node, *inputs))
    if kind is None:
        return None
    broken = find_conflicts(kind, {below for input_traits in inputs for below in input_traits.below})
    for rule in broken.values():
        if isinstance(rule, UnsupportedSteps):
            raise NotIncrementalError(rule.code, rule.message, rule.help)
    if broken:
        raise SeparateQueryError(kind, frozenset(broken), next(iter(broken.values())).message)
    return kind


def _traits(node: Node, inputs: list[Traits]) -> Traits:
    match node:
        case Filter() | Output():
            return inputs[0]
        case Project():
            return projection_traits(inputs[0], node.input, node.items, node.keys)
        case Union():
            return _united(inputs)
        case TraitsLeaf():
            spacings = tuple(Spacing(*spacing) for spacing in node.spacings)
            return Traits(
                node.mode,
                node.keys,
                None,
                node.watermarks,
                node.below,
                spacings,
                node.changes_by_itself,
                node.looks_up,
            )
        case SourceScan() if node.keys:
            return Traits("upsert", node.keys, below=("table changes",))
        case TopicScan() | SourceScan():
            return Traits("append")
        case SeedScan():
            return Traits("static")
        case TableScan():
            if not node.changes:
                return Traits("static", looks_up=node.relation)
            return Traits("upsert", node.keys, below=("table changes",) if node.stored else ())
        case Decode():
            if not node.unique_by:
                return Traits("append")
            reference = node.relation.kind == "source"
            return Traits("upsert", node.unique_by, below=("table changes",) if reference else ())
        case Watermark():
            # Spark takes the last one for the event time of the rows (EventTimeWatermark.output).
            return replace(inputs[0], watermarks=((node.time, node.delay),), below=())
        case Expand():
            return _expanded(node, inputs[0])
        case Repartition():
            return replace(inputs[0], partitioned=node.keys)
        case Aggregate():
            return aggregate_traits(node, inputs[0])
        case Dedupe():
            return require_append(
                "a dedupe", "dedupe before the aggregate, where rows are only appended", inputs[0]
            )
        case Stateful():
            remedy = "pass events to it, not the results of an aggregate"
            require_append(f"{node.function}()", remedy, inputs[0])
            return Traits("append")
        case Lookup():
            return lookup_traits(node, inputs[0], inputs[1])
        case Join():
            return joined_streams(node, inputs[0], inputs[1])
        case TemporalJoin():
            return joined_as_of(node, inputs[0])
        case Opaque():
            return _opaque(node, inputs)
        case Maintained():
            return Traits("upsert", node.keys, below=("table changes",))
        case _:
            raise TypeError(type(node))


def _expanded(node: Expand, input_traits: Traits) -> Traits:
    if input_traits.mode == "upsert":
        keys = key_text(input_traits.keys)
        message = f"{node.function}() can't expand rows that change later: the newest per {keys}"
        tables = "make this model a table with refresh='full', and the views that it reads tables"
        aggregated = any(kind.endswith("aggregate") for kind in input_traits.below)
        raise NotIncrementalError(
            "MS510", message, "expand the events before they are aggregated" if aggregated else tables
        )
    return input_traits


def _united(inputs: list[Traits]) -> Traits:
    for input_traits in inputs:
        if input_traits.mode == "upsert":
            message = (
                f"UNION can't combine rows that change later: the newest per {key_text(input_traits.keys)}"
            )
            raise NotIncrementalError("MS510", message, "union the events before they are aggregated")
    if all(input_traits.mode == "static" for input_traits in inputs):
        return Traits("static")
    first = inputs[0]
    shared = tuple(time for time in first.watermarks if all(time in other.watermarks for other in inputs))
    return Traits("append", (), None, shared)


def _opaque(node: Opaque, inputs: list[Traits]) -> Traits:
    if all(input_traits.mode == "static" for input_traits in inputs):
        return Traits("static")
    if any(input_traits.mode == "upsert" for input_traits in inputs):
        message = "opaque SQL can't read rows that change later, since it might count them twice"
        remedy = f"move the opaque part to a seed, or to a model over events: {node.reasons[0]}"
        raise NotIncrementalError("MS514", message, remedy)
    return Traits("append")
