"""Describes the queries that run a plan, and why models don't share a query."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from millstream.explain.names import model_name
from millstream.explain.state_memory import StateMemory, StateStores, in_words, state_memory
from millstream.plan.from_sql.catalog import Catalog
from millstream.queries.emit.steps import (
    CountedView,
    DedupeView,
    SqlView,
    StatefulView,
    Step,
    TemporalView,
    WindowView,
)
from millstream.queries.maintaining import maintenance_statements
from millstream.queries.values import PerBatch, Separation
from millstream.queries.values import Query as Physical
from millstream.results.batch_stats import BatchFigures


class ExplainedQuery(Struct, frozen=True):
    name: str
    kind: str = "single"
    """stateless, stateful or single."""
    models: tuple[str, ...] = ()
    """Names of the models that it computes."""
    sources: tuple[str, ...] = ()
    mode: str = "append"
    """append or update."""
    realtime: tuple[str, ...] = ()
    """What prevents real-time mode."""
    memory: str = ""
    """The rows of its state."""
    states: tuple[StateMemory, ...] = ()
    """The memory of each state."""
    state_memory: tuple[str, ...] = ()
    """The same in words."""
    batches: BatchFigures | None = None
    """What batches of a run take."""
    sql: str = ""
    dead_letters: tuple[str, ...] = ()
    """Topics to which it writes records that can't be decoded."""
    exactly_once: bool = False
    """Its records are sent in transactions."""
    keeps: str = ""
    """The reference topic that it stores as a table."""
    stored_rows: str = field(default="", name="kept")
    """What it stores of that topic: its newest rows, or versions of rows."""


class SeparationReason(Struct, frozen=True):
    """Why a model does not share a query with others."""

    model: str
    why: str
    others: tuple[str, ...] = ()
    """Models of the query that it could be expected to share."""


def explain_query(
    query: Physical, catalog: Catalog, stores: StateStores, batches: BatchFigures | None = None
) -> ExplainedQuery:
    states = state_memory(query, catalog, stores)
    reads = [source.title for source in query.sources]
    reads += [read.relation.last_name for read in query.reads]
    return ExplainedQuery(
        query.name,
        query.kind,
        tuple(model_name(model) for model in query.stored if model.kind != "source"),
        tuple(dict.fromkeys(reads)),
        query.output_mode,
        query.realtime,
        query.memory.why if query.signature.stateful else "",
        states,
        tuple(_named(states, state, in_words(state, stores.cache)) for state in states),
        batches,
        "\n\n".join(_sql(query)),
        tuple(output.topic for output in query.dead_letters),
        query.exactly_once,
        *_reference(query),
    )


def _reference(query: Physical) -> tuple[str, str]:
    """Return the reference topic that a query stores, and what it stores of it."""
    for table in query.tables:
        if table.model.kind == "source":
            name = table.model.last_name
            return name, f"the newest rows of {name}" if table.versions is None else f"the versions of {name}"
    return "", ""


def _named(states: Sequence[StateMemory], state: StateMemory, text: str) -> str:
    return text if len(states) == 1 else f"{text} ({state.operator})"


def _sql(query: Physical) -> Iterable[str]:
    """Yield the views and statements of a query in execution order."""
    yield from map(_step, query.steps)
    if (plan := query.maintaining) is not None:
        yield from map(_maintaining, maintenance_statements(plan))
    yield query.sql
    if isinstance(query.deliver, PerBatch):
        for delivery in query.deliver.deliveries:
            yield f"-- {delivery.title}, of each batch as {query.deliver.view}\n{delivery.sql}"


def _maintaining(statement: tuple[str, str]) -> str:
    title, sql = statement
    return f"-- {title}\n{sql}"


def _step(step: Step) -> str:
    match step:
        case SqlView():
            return f"-- view {step.name}\n{step.sql}"
        case DedupeView(by_position=True):
            return f"-- view {step.name}: {step.of} without records that were sent again"
        case DedupeView():
            within = f" within {step.within}" if step.within else ""
            within += f" of {step.exact_by}, exactly" if step.exact_by else ""
            return f"-- view {step.name}: the first row of {step.of} by {', '.join(step.keys)}{within}"
        case WindowView():
            return f"-- view {step.name}: {step.of} with watermark {step.window}, delay {step.delay}"
        case TemporalView():
            on = " and ".join(f"{left} = {right}" for left, right in step.pairs)
            return f"-- view {step.name}: {step.of} with {step.versions} as of {step.time}, on {on}"
        case CountedView():
            dropped = (
                "whose bad records are counted" if step.good else "without bad records, which are counted"
            )
            return f"-- view {step.name}: {step.of}, {dropped}"
        case StatefulView():
            ttl = f", each kept for {step.ttl}" if step.ttl else ""
            ttl += f" by {step.time}" if step.time else ""
            return f"-- view {step.name}: {step.function}() over {step.of} by {', '.join(step.keys)}{ttl}"


def explain_separation(separation: Separation) -> SeparationReason:
    return SeparationReason(
        model_name(separation.model), separation.why, tuple(map(model_name, separation.other))
    )
