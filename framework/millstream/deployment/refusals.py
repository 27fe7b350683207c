"""Why a query can't continue or be rebuilt, and what to do instead."""

from __future__ import annotations

from millstream.errors import Diagnostic
from millstream.physical.commands import accepting, rebuild_command
from millstream.physical.counted_twice import DoubleCount
from millstream.physical.values import Query
from millstream.physical.verdict import Verdict


def refusal(query: Query, found: Verdict) -> Diagnostic:
    # The only state of a query often has its name.
    reasons = "; ".join(reason.removeprefix(f"{query.title}: ") for reason in found.reasons)
    rebuild = rebuild_command(query)
    if found.kind in {"stored", "mixed"}:
        code = "MS871" if found.kind == "mixed" else "MS880"
        remedy = f"continue from here with {accepting(found)}, or rebuild: {rebuild}"
        return Diagnostic(code, f"{query.title}: {reasons}", None, remedy)
    message = f"{query.title} can't continue from its checkpoint: {reasons}"
    remedy = f"rebuild it alongside the running version, then swap: {rebuild}"
    return Diagnostic("MS870", message, None, remedy)


def double_count_error(found: DoubleCount) -> Diagnostic:
    """Return the error for a query that would count rows twice."""
    name, writer, reader = found.model.removeprefix("model."), found.writer.title, found.reader.title
    message = f"{writer} would send its rows again, and {reader} would count them twice"
    return Diagnostic("MS882", message, None, f"rebuild both: --rebuild {name}+")
