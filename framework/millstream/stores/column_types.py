"""Checks that columns of a stored table have the types of its model."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.types import Type
from millstream.queries.commands import full_refresh
from millstream.queries.values import TableOutput


def check_column_types(
    code: str, output: TableOutput, stored: Mapping[str, Type], expected: Mapping[str, Type]
) -> None:
    """Refuse a column whose stored type is not the expected one; names are in lower case."""
    for column in output.columns:
        was = stored.get(column.name.lower())
        if was is None or was == expected[column.name.lower()]:
            continue
        types = f"has type {was}, but {column.type} in the model"
        message = f"column '{column.name}' of the table '{output.model.name}' {types}"
        raise MillstreamError(Diagnostic(code, message, None, f"rebuild it: {full_refresh([output.model])}"))
