"""All rules in the order in which they are applied, each with the reason for its place."""

from millstream.plan.optimizer.context import Rule
from millstream.plan.optimizer.rules.broadcast_lookups import broadcast_lookups
from millstream.plan.optimizer.rules.bypass_topics import bypass_topics
from millstream.plan.optimizer.rules.call_once import call_once
from millstream.plan.optimizer.rules.delay_costly import delay_costly
from millstream.plan.optimizer.rules.drop_repartition import drop_repartition
from millstream.plan.optimizer.rules.drop_watermarks import drop_watermarks
from millstream.plan.optimizer.rules.merge_aggregates import merge_aggregates
from millstream.plan.optimizer.rules.merge_filters import merge_filters
from millstream.plan.optimizer.rules.merge_projections import merge_projections
from millstream.plan.optimizer.rules.prefilter_bytes import prefilter_bytes
from millstream.plan.optimizer.rules.prune_columns import prune_columns
from millstream.plan.optimizer.rules.push_filters import push_filters
from millstream.plan.optimizer.rules.push_shared_filters import push_shared_filters
from millstream.plan.optimizer.rules.share_equal import share_equal
from millstream.plan.optimizer.rules.share_renamed import share_renamed
from millstream.plan.optimizer.rules.share_repartition import share_repartition

RULES: tuple[Rule, ...] = (
    # First, so that a topic is read without an event time that its reader does not use. Such an event time
    # would also keep columns and stop filters.
    drop_watermarks,
    # So that all later rules see a model and the readers of its topic as one graph.
    bypass_topics,
    # Sharing must be known before anything moves: a filter may not move below a node with other readers.
    share_equal,
    # Remaining siblings over one input differ at least in names.
    share_renamed,
    # Fewer nodes for all later rules.
    merge_projections,
    # Each condition moves down on its own, before conditions that all readers have in common are shared.
    push_filters,
    # Uses the filters that push_filters moved to a shared node; its own move on in the next round.
    push_shared_filters,
    # Ranks the filters of single models, whose figures are known, while they are still separate.
    delay_costly,
    # Only filters of the same cost are adjacent now.
    merge_filters,
    # Finds calls in a filter and the projection above it: both must be in their final place.
    call_once,
    # Filters are in their final place, so a shared shuffle moves only rows that a reader keeps. Merged
    # aggregates need no shared shuffle, and a shuffle that is not needed should not be shared first.
    merge_aggregates,
    drop_repartition,
    share_repartition,
    # After merges and moves, which may remove the only reader of a column.
    prune_columns,
    # Look at what is directly above a decode or a lookup, once nothing moves any more.
    prefilter_bytes,
    broadcast_lookups,
)

OPT_IN: frozenset[str] = frozenset(("merge_aggregates",))
"""Rules that `optimization: all` leaves out: they must be selected by name."""

SHARING: frozenset[str] = frozenset(
    ("bypass_topics", "merge_aggregates", "share_equal", "share_renamed", "share_repartition")
)
"""Rules by which models use nodes of others."""

ALWAYS: frozenset[str] = frozenset(("drop_watermarks",))
"""Rules that `optimization: none` also applies: when windows close must not depend on it."""
