"""What prevents a query from running in Spark's real-time mode."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.physical.branches import STATEFUL
from millstream.physical.signature import operator_name
from millstream.physical.values import SourceRead
from millstream.plan.nodes import Dedupe, Node, Opaque
from millstream.plan.traits import KnownTraits


def prevented(
    order: Sequence[Node],
    sources: Sequence[SourceRead],
    functions: Sequence[str],
    *,
    batches: bool,
    sides: int,
) -> tuple[str, ...]:
    """Return the reasons in words; none: it can run so."""
    found: list[str] = []
    traits = KnownTraits()
    for node in order:
        if isinstance(node, STATEFUL) and traits.of(node).mode != "static":
            what = "drops duplicates" if isinstance(node, Dedupe) else "keeps state"
            found.append(f"{operator_name(node)} {what}")
    found += [f"{name}() is a Python function" for name in functions]
    if batches:
        found.append("its outputs are written batch by batch")
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
