"""What prevents a query from running in Spark's real-time mode."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.plan.nodes import Dedupe, Node, Opaque
from millstream.queries.signature import operator_name, states_in
from millstream.queries.values import ChangesRead, PerBatch, SourceRead, StreamRead, ToKafka, TopicRead


def realtime_obstacles(
    order: Sequence[Node],
    sources: Sequence[StreamRead],
    functions: Sequence[str],
    *,
    deliver: ToKafka | PerBatch,
    exactly_once: bool,
    sides: int,
) -> tuple[str, ...]:
    """Return the reasons; without any, the query can run in real-time mode."""
    obstacles: list[str] = []
    for node in states_in(order):
        what = "drops duplicates" if isinstance(node, Dedupe) else "keeps state"
        obstacles.append(f"{operator_name(node)} {what}")
    obstacles += [f"{name}() is a Python function" for name in functions]
    match deliver:
        case PerBatch():
            obstacles.append("its outputs are written batch by batch")
        case ToKafka(timed=True):
            obstacles.append("records with their own timestamp are written batch by batch")
        case ToKafka(placed=False) if not obstacles:
            obstacles.append("rows that may become several records are written batch by batch")
    if exactly_once:
        obstacles.append("it sends its records in transactions, batch by batch")
    if sides > 1:
        obstacles.append("it reads a source more than once")
    obstacles += [
        f"changes of the table {s.relation.last_name} arrive in batches"
        for s in sources
        if isinstance(s, ChangesRead)
    ]
    obstacles += [f"rows of {s.title} arrive in batches" for s in sources if isinstance(s, SourceRead)]
    obstacles += [
        f"the history of {s.title} is read in a batch"
        for s in sources
        if isinstance(s, TopicRead) and s.history
    ]
    if not sources:
        obstacles.append("it reads no stream")
    if any(isinstance(node, Opaque) for node in order):
        obstacles.append("it contains opaque SQL")
    return tuple(dict.fromkeys(obstacles))


def missing_slots(queries: Sequence[tuple[str, int]], slots: int) -> str:
    """Return an error if there are fewer slots than partitions, otherwise an empty text.

    A real-time query runs a task for each partition all the time. A task without a slot never starts, and
    Spark does not report it: the records of its partition wait forever.
    """
    needed = sum(count for _, count in queries)
    if needed <= slots:
        return ""
    counts = ", ".join(f"{name} reads {count}" for name, count in queries)
    return (
        f"real-time mode needs a core for each partition: {needed} in total, but Spark has {slots} ({counts})"
    )
