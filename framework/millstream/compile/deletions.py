"""Checks the options by which rows of append-only tables are deleted."""

from __future__ import annotations

from millstream.core.errors import WrongOption
from millstream.core.types import is_single_value
from millstream.outputs.kinds import Table
from millstream.plan.from_sql.catalog import ModelSpec, PlanDiagnostic


def check_deletions(spec: ModelSpec) -> list[PlanDiagnostic]:
    """Return what prevents `delete_by` from saying which rows are deleted."""
    table = spec.materialization.table
    if table is None or not table.delete_by:
        return []
    wrong = _missing_or_misplaced(spec, table) or _wrong_type(spec, table)
    if wrong is None:
        return []
    return [PlanDiagnostic(wrong.code, wrong.message, wrong.help, spec.id, option=wrong.option)]


def _missing_or_misplaced(spec: ModelSpec, table: Table) -> WrongOption | None:
    if not table.appends:
        message = f"'delete_by' is for append-only tables, but '{spec.name}' has a unique_key"
        return WrongOption("MS121", message, "remove it: delete_when deletes the row of a key", "delete_by")
    if table.delete_when is None:
        message = "'delete_by' needs 'delete_when', which says what rows request a deletion"
        remedy = "set delete_when='…', a condition over the columns of this model; or remove 'delete_by'"
        return WrongOption("MS558", message, remedy, "delete_by")
    return None


def _wrong_type(spec: ModelSpec, table: Table) -> WrongOption | None:
    named = {name.lower() for name in table.delete_by}
    for column in spec.columns:
        if column.name.lower() in named and not is_single_value(column.type):
            message = f"'{column.name}' can't say which rows are deleted: it is of type {column.type}"
            remedy = "name a column with a number, a text, a date or a time"
            return WrongOption("MS558", message, remedy, "delete_by")
    return None
