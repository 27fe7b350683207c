"""What a query stores, by the names that people know."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.physical.values import DeadLetters, Query, SinkOutput, TableOutput


def stored(query: Query) -> tuple[str, ...]:
    """Return the ids of the models, and reference topics, whose rows a query stores."""
    return tuple(target.model for target in query.outputs if not isinstance(target, DeadLetters))


def plain(models: Iterable[str]) -> tuple[str, ...]:
    return tuple(model.removeprefix("model.").removeprefix("source.") for model in models)


def topics_of(query: Query) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.topic for each in query.outputs if isinstance(each, SinkOutput)))


def tables_of(query: Query) -> tuple[str, ...]:
    return plain(each.model for each in query.outputs if isinstance(each, TableOutput))
