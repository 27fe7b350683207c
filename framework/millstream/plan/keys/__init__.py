"""Whether an expression determines the columns that it reads, and can replace them in a key."""

from millstream.plan.keys.determined import determined
from millstream.plan.keys.present import present
from millstream.plan.keys.times import has_fixed_offset, microseconds
from millstream.plan.keys.values import ColumnProperties, Columns, Value

__all__ = [
    "ColumnProperties",
    "Columns",
    "Value",
    "determined",
    "has_fixed_offset",
    "microseconds",
    "present",
]
