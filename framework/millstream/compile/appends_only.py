"""Checks that stores whose rows can't change get no table that changes rows."""

from __future__ import annotations

from millstream.core.errors import WrongOption
from millstream.outputs.kinds import Table
from millstream.plan.from_sql.catalog import ModelSpec, PlanDiagnostic
from millstream.stores.declaration import StoreDeclaration


def check_appends_only(spec: ModelSpec, store: StoreDeclaration) -> list[PlanDiagnostic]:
    """Return why a table would have to change rows that its store can only append."""
    table = spec.materialization.table
    if table is None or not store.appends_only or (wrong := _changing(spec, table, store)) is None:
        return []
    return [PlanDiagnostic(wrong.code, wrong.message, wrong.help, spec.id, option=wrong.option)]


def _changing(spec: ModelSpec, table: Table, store: StoreDeclaration) -> WrongOption | None:
    if not table.appends:
        message = f"'{spec.name}' has a unique_key, but rows in {store.title} can't change"
        remedy = "set store='delta', or remove unique_key: then each row is appended"
        return WrongOption("MS631", message, remedy, "unique_key")
    if table.delete_by:
        message = f"'delete_by' deletes rows, but rows in {store.title} can't change"
        return WrongOption("MS631", message, "set store='delta', or remove 'delete_by'", "delete_by")
    return None
