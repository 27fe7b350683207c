"""Rejects nondeterministic values where Spark does not support them."""

from __future__ import annotations

import re

from sqlglot import exp

from millstream.sql.expressions import Evaluator
from millstream.sql.findings import span_of

_RANDOM = "rand random randn randstr uniform uuid shuffle monotonically_increasing_id"
_READER_POSITIONS = "spark_partition_id input_file_name input_file_block_start input_file_block_length"
_CLOCK = "current_timestamp current_date current_time curdate now localtimestamp unix_timestamp"
"""Over a stream, Spark takes these from the batch (CurrentBatchTimestamp), which is not deterministic."""
_NAMES = frozenset(f"{_RANDOM} {_READER_POSITIONS} {_CLOCK}".split())


def check_random(evaluator: Evaluator, node: exp.Expr, name: str) -> None:
    """Report such a value in an aggregate or in the condition of a join."""
    where = "an aggregate" if evaluator.inside_aggregate else evaluator.no_aggregates
    if name in _NAMES and (evaluator.inside_aggregate or where.startswith("JOIN")):
        message = f"{name} is not allowed in {where}"
        remedy = "compute it as a column in a subquery or CTE, and use the column"
        # Without parentheses, the tree has no position for it.
        word = None if node.meta else re.search(rf"\b{name}\b", evaluator.findings.sql, re.IGNORECASE)
        start, stop = word.span() if word else span_of(node, evaluator.findings.sql)
        evaluator.findings.report_at(start, stop, "MS436", message, remedy)
