"""Rates as sources: their keys in YAML, and the columns of their rows."""

from __future__ import annotations

from typing import Annotated

from millstream.core.types import BIGINT, TIMESTAMP
from millstream.project.shapes import Positive, describe_key
from millstream.sources.declaration import Declaration, GivenColumn
from millstream.sources.rows import RowShape, row_reader


class RateShape(RowShape, kw_only=True):
    rows_per_second: Annotated[Positive, describe_key("how many rows come in each second, by default 1")] = 1


DECLARATION = Declaration(
    title="rate source",
    key="rates",
    shape=RateShape,
    read=row_reader("rate", "rows_per_second"),
    columns=(
        GivenColumn("timestamp", TIMESTAMP, description="When the row came."),
        GivenColumn("value", BIGINT, description="The number of the row, from 0."),
    ),
    time="timestamp",
    unit="seconds",
    replayable=False,
)
