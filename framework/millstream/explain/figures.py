"""The figures behind the order of filters and the savings, and their origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.plan.optimizer.context import PlanHints
from millstream.results.selectivity import MeasuredFigures

Origin = Literal["declared", "measured"]


class Figure(Struct, frozen=True):
    of: str
    """A source or a model."""
    what: Literal["keeps", "rows_per_second"]
    value: float
    origin: Origin
    why: str = ""
    """For a measured figure, what was counted."""


def list_figures(declared: PlanHints, measured: MeasuredFigures) -> tuple[Figure, ...]:
    """Return all known figures; a declared figure takes precedence over a measured one."""
    return (
        *_of("rows_per_second", declared.rows_per_second, measured.rows_per_second, measured),
        *_of("keeps", declared.keeps, measured.keeps, measured),
    )


def _of(
    what: Literal["keeps", "rows_per_second"],
    declared: Mapping[NodeId, float],
    derived: Mapping[NodeId, float],
    measured: MeasuredFigures,
) -> list[Figure]:
    of_kind: list[Figure] = []
    for id_ in sorted({**declared, **derived}):
        name = id_.name
        if id_ in declared:
            of_kind.append(Figure(name, what, declared[id_], "declared"))
        else:
            why = _counted(what, measured.counts[id_])
            of_kind.append(Figure(name, what, derived[id_], "measured", why))
    return of_kind


def _counted(what: str, counts: tuple[int, float]) -> str:
    first, second = counts
    if what == "keeps":
        return f"{second:,.0f} of {first:,} rows"
    return f"{first:,} rows in {_time(second)}"


def _time(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} seconds"


def in_words(figure: Figure) -> str:
    """Return a figure in words: `events: 12 rows a second (measured: 7,200 rows in 10 minutes)`."""
    keeps = figure.what == "keeps"
    text = f"keeps {figure.value:g} of its rows" if keeps else f"{figure.value:,g} rows a second"
    return f"{figure.of}: {text} ({figure.origin}{f': {figure.why}' if figure.why else ''})"
