"""Whether an expression keeps apart what it is calculated from, and so can stand for columns of a key."""

from millstream.plan.keys.determined import Columns, Known, Value, determined
from millstream.plan.keys.present import present
from millstream.plan.keys.times import has_fixed_offset, microseconds

__all__ = ["Columns", "Known", "Value", "determined", "has_fixed_offset", "microseconds", "present"]
