"""The results of queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.queries.values import Query
from millstream.results.run_results import Status, TableChanges


class RecordCounts(Struct, frozen=True):
    """Counts of records: left out by source if they can't be decoded, by model if a function failed."""

    skipped: dict[NodeId, int] = {}
    dead_letters: dict[NodeId, int] = {}
    tests: dict[NodeId, int] = {}
    """Rows that fail data tests, by the test's id."""
    of_models: dict[str, dict[str, int]] = {}
    """Of the skipped records and dead letters of a source, those that are bad for some of its models: by
    fate, then by source and the column by which these models drop them. Zeros count."""
    rows: dict[NodeId, int] = {}
    """Rows computed for models with a query or a topic of their own. Zeros count."""

    def of(self, ids: Collection[NodeId], drops_by: Mapping[NodeId, str]) -> RecordCounts:
        """Return the counts of a model, by its sources, its tests and itself."""
        skipped, dead_letters, tests = (
            {id_: number for id_, number in numbers.items() if id_ in ids}
            for numbers in (self.skipped, self.dead_letters, self.tests)
        )
        for fate, numbers in (("skipped", skipped), ("dead_letters", dead_letters)):
            for source, good in drops_by.items():
                number = self.of_models.get(fate, {}).get(f"{source} {good}", numbers.get(source, 0))
                numbers.pop(source, None)
                numbers.update({source: number} if number else {})
        return RecordCounts(skipped, dead_letters, tests)

    def __add__(self, other: RecordCounts) -> RecordCounts:
        summed = {fate: _sum(self.of_models.get(fate), other.of_models.get(fate)) for fate in _FATES}
        return RecordCounts(
            _sum(self.skipped, other.skipped),
            _sum(self.dead_letters, other.dead_letters),
            _sum(self.tests, other.tests),
            {fate: numbers for fate, numbers in summed.items() if numbers},
            _sum(self.rows, other.rows),
        )


_FATES = ("skipped", "dead_letters")
_Key = TypeVar("_Key", str, NodeId)


def _sum(one: Mapping[_Key, int] | None, other: Mapping[_Key, int] | None) -> dict[_Key, int]:
    totals = dict(one or {})
    for name, number in (other or {}).items():
        totals[name] = totals.get(name, 0) + number
    return totals


class StateRows(Struct, frozen=True, omit_defaults=True):
    """How many rows of the state of one operator expired, or came too late for it."""

    operator: str
    """What it does: aggregate, dedupe, join, …; empty if it is unknown which operator it is."""
    models: tuple[NodeId, ...]
    """The stored models whose rows pass it."""
    rows: int
    closes: bool = False
    """Whether it is an aggregate whose rows leave its state when their windows close."""

    @property
    def unit(self) -> str:
        return _UNITS.get(self.operator, "row")


_UNITS = {"aggregate": "group", "dedupe": "key", "stateful": "key", "first_sent": "page"}
"""What a row of an operator's state is for users."""


def rows_of_states(query: Query, rows: Sequence[int]) -> tuple[StateRows, ...]:
    """Return the states that have a number of rows; `rows` has one for each of Spark's operators."""
    operators, states = query.signature.operators, query.signature.numbered
    if len(states) != len(rows):
        # Spark has other states than the plan, or an older version has numbered them.
        models = dict.fromkeys(model for operator in operators for model in operator.models)
        return (StateRows("", tuple(models), sum(rows)),) if any(rows) else ()
    return tuple(
        StateRows(
            operator.kind,
            operator.models,
            number,
            operator.kind == "aggregate" and query.output_mode == "append",
        )
        for operator, number in zip(states, rows, strict=True)
        if number and operator in operators
    )


def of_model(model: NodeId, states: Iterable[StateRows]) -> int:
    return sum(state.rows for state in states if model in state.models)


def sum_of_states(states: Iterable[StateRows]) -> tuple[StateRows, ...]:
    sums: dict[tuple[str, tuple[NodeId, ...]], StateRows] = {}
    for state in states:
        before = sums.get((state.operator, state.models))
        rows = state.rows + (before.rows if before else 0)
        sums[state.operator, state.models] = replace(state, rows=rows)
    return tuple(sums.values())


class QueryResult(Struct, frozen=True):
    """The result of one query."""

    query: str
    status: Status
    rows: int = 0
    seconds: float = 0.0
    message: str = ""
    diagnostic: Diagnostic | None = None
    reads: dict[NodeId, int] = {}
    """Records read from each topic, by id of the source or model; empty if unknown."""
    counts: RecordCounts = RecordCounts()
    failed: dict[NodeId, int] = {}
    """Records of a batch that did not complete, by the same ids as `reads`."""
    backfilled: dict[NodeId, dict[NodeId, int]] = {}
    """Records that models read again before the query started, by model, then by the same ids."""
    changes: TableChanges | None = None
    """What a table over tables did; None for other queries."""
    expired: tuple[StateRows, ...] = ()
    late: tuple[StateRows, ...] = ()
    """Rows that stateful operators dropped because they were older than the watermark."""
    duplicates: tuple[StateRows, ...] = ()
    """Rows that a dedupe dropped because their key came before."""
    left_out: dict[NodeId, Diagnostic] = {}
    """Models that failed; the query ran without them."""
