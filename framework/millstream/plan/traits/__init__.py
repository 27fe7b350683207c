"""Derives the traits of each relation of a plan: mode, key, partitioning, watermark.

Every trait is derived here, from a node and the traits of its inputs.
"""

from millstream.plan.traits.aggregates import is_distinct
from millstream.plan.traits.cache import KnownTraits, all_traits, reads_event_time, traits_of
from millstream.plan.traits.changing_rows import called_by
from millstream.plan.traits.derive import traits_in_one_query
from millstream.plan.traits.joins import event_times
from millstream.plan.traits.projections import (
    known_columns,
    projected_keys,
    projection_traits,
    window_time_of,
)
from millstream.plan.traits.values import KeyLostError, Mode, NotIncrementalError, Spacing, Traits

__all__ = [
    "KeyLostError",
    "KnownTraits",
    "Mode",
    "NotIncrementalError",
    "Spacing",
    "Traits",
    "all_traits",
    "called_by",
    "event_times",
    "is_distinct",
    "known_columns",
    "projected_keys",
    "projection_traits",
    "reads_event_time",
    "traits_in_one_query",
    "traits_of",
    "window_time_of",
]
