"""All rules in the order in which they are applied, each with the reason for its place."""

from millstream.optimizer.context import Rule
from millstream.optimizer.rules.broadcast_lookups import broadcast_lookups
from millstream.optimizer.rules.bypass_topics import bypass_topics
from millstream.optimizer.rules.call_once import call_once
from millstream.optimizer.rules.delay_costly import delay_costly
from millstream.optimizer.rules.drop_repartition import drop_repartition
from millstream.optimizer.rules.drop_watermarks import drop_watermarks
from millstream.optimizer.rules.merge_aggregates import merge_aggregates
from millstream.optimizer.rules.merge_filters import merge_filters
from millstream.optimizer.rules.merge_projections import merge_projections
from millstream.optimizer.rules.prefilter_bytes import prefilter_bytes
from millstream.optimizer.rules.prune_columns import prune_columns
from millstream.optimizer.rules.push_filters import push_filters
from millstream.optimizer.rules.push_shared_filters import push_shared_filters
from millstream.optimizer.rules.share_equal import share_equal
from millstream.optimizer.rules.share_renamed import share_renamed
from millstream.optimizer.rules.share_repartition import share_repartition

RULES: tuple[Rule, ...] = (
    # First, so that a topic is read without the event time that its reader does not look at. Such an event
    # time keeps columns alive and filters up, too.
    drop_watermarks,
    # So that a model and what reads its topic are one graph for all rules after it.
    bypass_topics,
    # Who shares what must be known before anything moves: a filter may only move where nobody else reads.
    share_equal,
    # What is left side by side over one input differs in names at least.
    share_renamed,
    # Fewer nodes for all that follow to look through.
    merge_projections,
    # Conditions go down on their own before anybody asks what all readers of a relation have in common.
    push_filters,
    # Reads the filters that the last one brought to what is shared; what it puts below goes on next round.
    push_shared_filters,
    # Ranks the filters of single models, of which shares of rows are known, while they still stand apart.
    delay_costly,
    # Only filters of one cost are left side by side now.
    merge_filters,
    # Finds calls in a filter and the projection above it: both must be where they stay.
    call_once,
    # Filters are where they stay, so that what is shuffled for several is what one of them keeps. Aggregates
    # that become one need no shared shuffle; one that is not needed should not be shared first.
    merge_aggregates,
    drop_repartition,
    share_repartition,
    # Last of these: what was merged or moved may have been the only reader of a column.
    prune_columns,
    # Look at what stands right above a decode or a lookup when nothing moves any more.
    prefilter_bytes,
    broadcast_lookups,
)

OPT_IN: frozenset[str] = frozenset(("merge_aggregates",))
"""Rules that `optimization: all` leaves out: they are asked for by name."""

ALWAYS: frozenset[str] = frozenset(("drop_watermarks",))
"""Rules that `optimization: none` applies, too: what closes a window must not depend on it."""
