"""The invariant of environments: their queries write nothing of production."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.project.names import Environment
from millstream.queries.values import DeadLetters, Query, SinkOutput, TableOutput, ViewOutput


def check_isolated(queries: Iterable[Query], environment: Environment | None) -> None:
    """Raise if a query would write a topic or table of production."""
    if environment is None:
        return
    for query in queries:
        for target in query.outputs:
            match target:
                case SinkOutput(model=id_, topic=topic):
                    environment.check(id_, topic)
                case TableOutput(model=id_):
                    environment.check(id_)
                case DeadLetters() | ViewOutput():
                    pass
        for topic in query.dead_letter_topics:
            environment.check("", topic)
