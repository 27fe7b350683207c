"""Why a query can't continue or be rebuilt, and what to do instead."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.core.errors import Diagnostic
from millstream.queries.commands import APPLY, continue_command, rebuild_command
from millstream.queries.double_counting import DoubleCount
from millstream.queries.values import Query
from millstream.queries.verdict import Verdict


def refuse_query(query: Query, verdict: Verdict, models: Sequence[str] = ()) -> Diagnostic:
    """Return the error for a query that can't continue; only some of its `models` may be why."""
    concerned = [model for model in query.stored if model in models] or list(query.stored)
    title = (
        query.title
        if len(concerned) == len(query.stored)
        else ", ".join(m.rpartition(".")[2] for m in concerned)
    )
    # The only state of a query often has its name.
    reasons = "; ".join(reason.removeprefix(f"{title}: ") for reason in verdict.reasons)
    others = [model.rpartition(".")[2] for model in query.stored if model not in concerned]
    shared = f"; {', '.join(others)} shares its query, and continues then" if len(others) == 1 else ""
    shared = f"; {', '.join(others)} share its query, and continue then" if len(others) > 1 else shared
    if verdict.kind in {"stored", "mixed"}:
        code = "MS871" if verdict.kind == "mixed" else "MS880"
        remedy = f"continue from here with {continue_command(query, verdict)}, or rebuild: {APPLY}"
        return Diagnostic(code, f"{title}: {reasons}", None, remedy)
    message = f"{title} can't continue from its checkpoint: {reasons}{shared}"
    remedy = f"rebuild it alongside the running version, then swap: {APPLY}"
    return Diagnostic("MS870", message, None, remedy)


def double_count_error(double: DoubleCount) -> Diagnostic:
    """Return the error for a query that would count rows twice."""
    message = (
        f"{double.writer.title} would send its rows again, and {double.reader.title} would count them twice"
    )
    return Diagnostic("MS882", message, None, f"rebuild both: {rebuild_command([double.model])}")
