"""A repartition is dropped if its rows are already together.

repartition by user → project user, total * 2 as t ← aggregate sum(value) as total by user on close
project user, total * 2 as t ← aggregate sum(value) as total by user on close
"""

from __future__ import annotations

from millstream.optimizer.context import Change, Context
from millstream.optimizer.local import Applied, Site, local_rule
from millstream.optimizer.names import both, kind
from millstream.plan.nodes import Join, Node, Repartition
from millstream.plan.traits import Traits, traits_of


def _not_needed(node: Repartition, context: Context) -> bool:
    return _together(node, traits_of(node.input), context.consumers[id(node)])


@local_rule(Repartition, _not_needed)
def drop_repartition(node: Repartition, at: Site) -> Applied | None:
    given = traits_of(node.input)
    # A repartition dropped further down may have been what this one relied on, so check the new input, too.
    if not _together(node, given, at.readers):
        return None
    return Applied(node.input, (Change(f"{kind(node)} is not needed: {_why(given)}", both(node)),))


def _together(node: Repartition, given: Traits, readers: list[Node]) -> bool:
    if given.mode == "static":
        return True
    if given.partitioned is None:
        return False
    there, keys = ([name.lower() for name in names] for names in (given.partitioned, node.keys))
    # The sides of a join must lie side by side; any other state cares for its own rows only: those that agree
    # in all keys agree in some of them; () is everything in one place.
    alone = not any(isinstance(each, Join) or not each.stateful for each in readers)
    return set(there) <= set(keys) if alone else there == keys


def _why(given: Traits) -> str:
    if given.mode == "static":
        return "all of it is at hand"
    if given.partitioned:
        return f"rows of one {', '.join(given.partitioned)} are together already"
    return "all rows are in one place already"
