"""The invariant of environments: their queries write nothing of production."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.project.names import Environment
from millstream.queries.values import Query


def check_isolated(queries: Iterable[Query], environment: Environment | None) -> None:
    """Raise if a query would write a topic or table of production."""
    if environment is None:
        return
    for query in queries:
        for output in query.model_outputs:
            if output.written_as != "nothing":
                environment.check(output.model, output.topic)
        for topic in query.dead_letter_topics:
            environment.check("", topic)
