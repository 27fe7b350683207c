"""Compares the rows of two tables: how many differ, and which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

from msgspec.structs import replace
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from millstream.core.errors import Diagnostic, DiagnosticNote
from millstream.core.expressions import quote_name
from millstream.core.types import BIGINT, DOUBLE, FLOAT, Type
from millstream.plan.nodes import Column
from millstream.queries.values import TableOutput

_SHOWN = 3
_COUNT = "rows with these values"
_NEAR = 1e-9
"""Relative difference: sums of the same numbers in a different order differ by less."""


def compare_rows(
    table: TableOutput, names: Sequence[str], old: DataFrame, new: DataFrame
) -> tuple[int, Diagnostic | None]:
    """Return how many rows two versions of a table have, and a diagnostic if these columns differ.

    Rows without a key are compared by how many of them have the same values.
    """
    if table.appends:
        counted_rows = f.count(f.lit(1)).alias(_COUNT)
        old, new = (side.groupBy(*map(quote_name, names)).agg(counted_rows) for side in (old, new))
        table = replace(table, keys=tuple(names), columns=(*table.columns, Column(_COUNT, BIGINT)))
        names = [_COUNT]
    types = {column.name: column.type for column in table.columns}
    sides = [
        side.select(
            *(
                f.col(quote_name(name)).alias(f"{mark}{index}")
                for index, name in enumerate([*table.keys, *names])
            )
        ).withColumn(mark, f.lit(True))
        for side, mark in ((old, "o"), (new, "n"))
    ]
    keys = range(len(table.keys))
    on = f.lit(True)
    for key in keys:
        on = on & f.col(f"o{key}").eqNullSafe(f.col(f"n{key}"))
    both = sides[0].join(sides[1], on, "full_outer")
    here = f.col("o").isNotNull() & f.col("n").isNotNull()
    equal = f.lit(True)
    for index, name in enumerate(names, len(keys)):
        equal = equal & _equal(f.col(f"o{index}"), f.col(f"n{index}"), types[name])
    gone, more = f.col("n").isNull(), f.col("o").isNull()
    other = here & ~equal
    counted = both.select(
        f.count(f.lit(1)), *(f.count_if(condition) for condition in (gone, more, other))
    ).first()
    assert counted is not None
    rows, *numbers = (int(number) for number in counted)
    if not any(numbers):
        return rows, None
    shown = both.where(gone | more | other).limit(_SHOWN).collect()
    return rows, _differs(table, names, numbers, [row.asDict() for row in shown])


def _equal(one: SparkColumn, other: SparkColumn, type_: Type) -> SparkColumn:
    if type_ not in {DOUBLE, FLOAT}:
        return one.eqNullSafe(other)
    near = f.abs(one - other) <= f.lit(_NEAR) * f.greatest(f.abs(one), f.abs(other))
    return one.eqNullSafe(other) | f.coalesce(near, f.lit(False))


def _differs(
    table: TableOutput, names: Sequence[str], numbers: Sequence[int], shown: Sequence[Mapping[str, Any]]
) -> Diagnostic:
    gone, more, other = numbers
    parts = [f"{other:,} have different values"] if other else []
    parts += [f"{gone:,} are gone"] if gone else []
    parts += [f"{more:,} are new"] if more else []
    notes = tuple(DiagnosticNote(_row(table, names, row)) for row in shown)
    name = table.model.name
    message = f"the rebuilt table {name} differs outside the edited columns: {', '.join(parts)}"
    remedy = (
        "check that the topics still hold all records, and whether rows were late before, or an earlier edit "
        "was accepted with --accept and left old rows; `millstream apply --accept-differences` swaps anyway"
    )
    return Diagnostic("MS886", message, None, remedy, notes=notes)


def _row(table: TableOutput, names: Sequence[str], row: Mapping[str, Any]) -> str:
    side = "n" if row["o"] is None else "o"
    key = ", ".join(f"{name} {_shown(row[f'{side}{index}'])}" for index, name in enumerate(table.keys))
    if row["o"] is None or row["n"] is None:
        return f"{key}: {'new' if row['o'] is None else 'gone'}"
    pairs = [(name, row[f"o{index}"], row[f"n{index}"]) for index, name in enumerate(names, len(table.keys))]
    differing = (f"{name} {_shown(was)} → {_shown(now)}" for name, was, now in pairs if was != now)
    return f"{key}: {', '.join(differing)}"


def _shown(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case date() | Decimal():
            return str(value)
        case _:
            return repr(value)
