"""Whether an expression determines the columns that it reads, and can replace them in a key."""

from millstream.plan.keys.determined_columns import expression_value
from millstream.plan.keys.non_null_columns import non_null_columns
from millstream.plan.keys.times import has_fixed_offset, interval_micros
from millstream.plan.keys.values import ColumnProperties, Columns, ValueFacts

__all__ = [
    "ColumnProperties",
    "Columns",
    "ValueFacts",
    "expression_value",
    "has_fixed_offset",
    "interval_micros",
    "non_null_columns",
]
