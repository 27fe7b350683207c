"""What prevents a query from running in Spark's real-time mode."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.physical.signature import operator_name
from millstream.physical.values import PerBatch, SourceRead, ToKafka
from millstream.plan.nodes import Dedupe, Node, Opaque
from millstream.plan.traits import traits_of


def prevented(
    order: Sequence[Node],
    sources: Sequence[SourceRead],
    functions: Sequence[str],
    *,
    deliver: ToKafka | PerBatch,
    sides: int,
) -> tuple[str, ...]:
    """Return the reasons in words; none: it can run so."""
    found: list[str] = []
    for node in order:
        if node.stateful and traits_of(node).mode != "static":
            what = "drops duplicates" if isinstance(node, Dedupe) else "keeps state"
            found.append(f"{operator_name(node)} {what}")
    found += [f"{name}() is a Python function" for name in functions]
    match deliver:
        case PerBatch():
            found.append("its outputs are written batch by batch")
        case ToKafka(timed=True):
            found.append("records with a time of their own are written batch by batch")
        case ToKafka(placed=False) if not found:
            found.append("what may become several records is written batch by batch")
    if sides > 1:
        found.append("it reads a source several times")
    found += [
        f"changes of the table {s.relation.rpartition('.')[2]} come in batches"
        for s in sources
        if not s.topic
    ]
    if not sources:
        found.append("it reads nothing that streams")
    if any(isinstance(node, Opaque) for node in order):
        found.append("it has SQL that is not understood")
    return tuple(dict.fromkeys(found))


def starving(queries: Sequence[tuple[str, int]], slots: int) -> str:
    """Say what is wrong where there are fewer slots than partitions; empty: nothing.

    A real-time query has a task for each partition all the time. One that gets no slot never starts, and
    Spark says nothing of it: the records of its partition wait for ever.
    """
    wanted = sum(count for _, count in queries)
    if wanted <= slots:
        return ""
    told = ", ".join(f"{name} reads {count}" for name, count in queries)
    return f"real-time mode needs a core for each partition, {wanted} in all; Spark has {slots}: {told}"
