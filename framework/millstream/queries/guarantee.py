"""Whether the records of a query arrive at least once or exactly once.

All records of a batch are in one transaction, so the strongest guarantee of a query's outputs is that of all.
"""

from __future__ import annotations

from collections.abc import Iterable

from millstream.project.options import EXACTLY_ONCE
from millstream.queries.values import Target


def sends_exactly_once(targets: Iterable[Target], of_target: str) -> bool:
    """Whether a query with these outputs sends records in transactions; `of_target` is the default."""
    sent = (target for target in targets if target.written_as == "record")
    return any((target.guarantee or of_target) == EXACTLY_ONCE for target in sent)
