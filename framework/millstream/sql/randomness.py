"""Values that are not the same each time, where Spark takes only those that are."""

from __future__ import annotations

import re

from sqlglot import exp

from millstream.sql.expressions import Expressions
from millstream.sql.findings import extent

_PLACES = ("spark_partition_id", "input_file_name", "input_file_block_start", "input_file_block_length")
_CLOCK = (
    "current_timestamp",
    "current_date",
    "current_time",
    "curdate",
    "now",
    "localtimestamp",
    "unix_timestamp",
)
"""Over a stream Spark takes these from the batch (CurrentBatchTimestamp), which is not deterministic."""
_RANDOM = frozenset(
    ("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id")
).union(_PLACES, _CLOCK)


def check_random(walk: Expressions, node: exp.Expr, name: str) -> None:
    """Refuse such a value within an aggregate and in the condition of a join."""
    where = "an aggregate" if walk.inside_aggregate else walk.no_aggregates
    if name in _RANDOM and (walk.inside_aggregate or where.startswith("JOIN")):
        message, remedy = (
            f"{name} can't stand in {where}",
            "make a column of it in a subquery or CTE, and use that",
        )
        # Without parentheses the tree has no place of it.
        found = None if node.meta else re.search(rf"\b{name}\b", walk.findings.sql, re.IGNORECASE)
        start, stop = found.span() if found else extent(node, walk.findings.sql)
        walk.findings.problem_at(start, stop, "MS436", message, remedy)
