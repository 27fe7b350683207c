"""Words for rows that were late, or expired from a state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from millstream.cli.diagnostics import count_of
from millstream.core.node_id import NodeId
from millstream.engine.queries.query_results import StateRows
from millstream.queries.values import Query

_AS_OF = "temporal_join"
"""The state of a join that waits for versions."""


def expired_lines(states: Iterable[StateRows]) -> Iterator[str]:
    """Yield a line for each state of which rows expired."""
    for state in states:
        yield f"{expired_in_words(state)}: {_names(state.models)}"


def expired_in_words(state: StateRows) -> str:
    if state.closes:
        return f"{count_of(state.rows, 'window')} closed"
    if state.operator == _AS_OF:
        return f"{count_of(state.rows, 'version')} or waiting rows left the state"
    return f"{count_of(state.rows, state.unit)} of state expired"


def late_lines(states: Sequence[StateRows], query: Query | None) -> Iterator[str]:
    """Yield a line that says how many rows were too late, and what to change."""
    if states and query is not None:
        models = _names(dict.fromkeys(model for state in states for model in state.models))
        yield f"{late_in_words(sum(state.rows for state in states), query)}: {models}"
        yield late_remedy(query)


def late_in_words(rows: int, query: Query) -> str:
    """Say how many rows were too late: of an aggregate, Spark counts those of one group in a batch once.

    It combines the rows of a group before it compares them with the watermark.
    """
    grouped = any(operator.kind == "aggregate" for operator in query.signature.operators)
    than = "the versions that are kept" if _waits_for_versions(query) else "the watermark"
    least, how = ("at least ", " (counted once per group and batch)") if grouped else ("", "")
    return f"{least}{count_of(rows, 'row')} dropped as late{how}: older than {than}"


def late_remedy(query: Query) -> str:
    if _waits_for_versions(query):
        topics = " or ".join(read.relation.name for read in query.topic_reads if read.reads_all)
        return f"to keep such rows, set longer `versions` of {topics}"
    sources = " or ".join(f"{relation.name} (now {delay})" for relation, delay in query.delays)
    return f"to keep such rows, set a longer `delay` in the watermark of {sources}"


def _waits_for_versions(query: Query) -> bool:
    """Whether only joins with versions drop late rows: those whose versions are no longer kept."""
    return {operator.kind for operator in query.signature.operators} == {_AS_OF}


def _names(models: Iterable[NodeId]) -> str:
    return ", ".join(model.name for model in models)
