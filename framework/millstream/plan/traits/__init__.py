"""What follows from a plan for each of its relations: mode, key, partitioning, watermark.

Every trait is derived, in one place, from a node and the traits of its inputs; nothing stores it.
"""

from millstream.plan.traits.derive import apart_ignored
from millstream.plan.traits.known import KnownTraits, all_traits, reads_event_time, traits_of
from millstream.plan.traits.projections import known_columns, projected, projected_keys, window_time_of
from millstream.plan.traits.values import KeyLostError, Mode, NotIncrementalError, Spaced, Traits

__all__ = [
    "KeyLostError",
    "KnownTraits",
    "Mode",
    "NotIncrementalError",
    "Spaced",
    "Traits",
    "all_traits",
    "apart_ignored",
    "known_columns",
    "projected",
    "projected_keys",
    "reads_event_time",
    "traits_of",
    "window_time_of",
]
