"""A repartition is dropped if its rows are already together.

repartition by user → project user, total * 2 as t ← aggregate sum(value) as total by user on close
project user, total * 2 as t ← aggregate sum(value) as total by user on close
"""

from __future__ import annotations

from millstream.plan.nodes import Join, Node, Repartition
from millstream.plan.optimizer.context import PlanChange, RuleContext
from millstream.plan.optimizer.local import Rewrite, RewriteContext, local_rule
from millstream.plan.optimizer.names import models_of, node_kind
from millstream.plan.traits import Traits, traits_of


def _not_needed(node: Repartition, context: RuleContext) -> bool:
    return _together(node, traits_of(node.input), context.consumers[id(node)])


@local_rule(Repartition, _not_needed)
def drop_repartition(node: Repartition, site: RewriteContext) -> Rewrite | None:
    traits = traits_of(node.input)
    # This one may have relied on a repartition that was dropped below, so check the new input, too.
    if not _together(node, traits, site.readers):
        return None
    return Rewrite(
        node.input, (PlanChange(f"{node_kind(node)} is not needed: {_why(traits)}", models_of(node)),)
    )


def _together(node: Repartition, traits: Traits, readers: list[Node]) -> bool:
    if traits.mode == "static":
        return True
    if traits.partitioned is None:
        return False
    partitioned, keys = ([name.lower() for name in names] for names in (traits.partitioned, node.keys))
    # The sides of a join must be partitioned alike. Any other state only needs the rows of each key together,
    # so a partitioning by some of the keys is enough; () means one partition.
    alone = not any(isinstance(reader, Join) or not reader.stateful for reader in readers)
    return set(partitioned) <= set(keys) if alone else partitioned == keys


def _why(traits: Traits) -> str:
    if traits.mode == "static":
        return "its input is at rest"
    if traits.partitioned:
        return f"rows of one {', '.join(traits.partitioned)} are already together"
    return "all rows are already in one partition"
