"""Checks the options that arrange the files of append-only tables."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.compile.partitions import wrong_partitions
from millstream.core.errors import WrongOption
from millstream.core.types import is_single_value
from millstream.outputs.kinds import LAYOUT, Table
from millstream.plan.from_sql.catalog import ModelSpec, PlanDiagnostic
from millstream.stores.declaration import FILE_OPTIONS, StoreDeclaration


def check_file_layout(spec: ModelSpec, store: StoreDeclaration) -> list[PlanDiagnostic]:
    """Return the options of a table that its rows, its columns or its store don't allow."""
    table = spec.materialization.table
    if table is None:
        return []
    names = [name for name in FILE_OPTIONS if getattr(table, name)]
    wrong = (
        _of_kept_rows(spec, table, names) or _of_other_stores(store, names) or _of_columns(spec, table, store)
    )
    return [PlanDiagnostic(w.code, w.message, w.help, spec.id, option=w.option) for w in wrong]


def _of_kept_rows(spec: ModelSpec, table: Table, names: list[str]) -> list[WrongOption]:
    if table.appends:
        return []
    message = "'{}' arranges the files of append-only tables, but '{}' has a unique_key"
    remedy = "remove it, or remove unique_key: then each row is appended"
    return [WrongOption("MS121", message.format(name, spec.name), remedy, name) for name in names]


def _of_other_stores(store: StoreDeclaration, names: list[str]) -> list[WrongOption]:
    message = "'{}' arranges files, and a table in {} has none"
    if store.file_options:
        message = "'{}' applies when files are combined, and those of a table in {} are not"
    return [
        WrongOption("MS121", message.format(name, store.title), "remove it, or set store='delta'", name)
        for name in names
        if name not in store.file_options
    ]


def _of_columns(spec: ModelSpec, table: Table, store: StoreDeclaration) -> list[WrongOption]:
    if table.partition_by and table.cluster_by:
        message = "'cluster_by' arranges rows instead of 'partition_by'"
        return [WrongOption("MS121", message, "remove one of them", "cluster_by")]
    wrong = [*wrong_partitions(spec, table, store), *_wrong_types(spec, table), *_without_rest(spec, table)]
    return wrong or list(_wrong_folders(spec, table, store))


def _wrong_types(spec: ModelSpec, table: Table) -> Iterator[WrongOption]:
    for option in LAYOUT:
        named = {name.lower() for name in getattr(table, option)}
        for column in spec.columns:
            if column.name.lower() in named and not is_single_value(column.type):
                message = f"files can't be arranged by '{column.name}', which is of type {column.type}"
                remedy = "name a column with a number, a text, a date or a time"
                yield WrongOption("MS697", message, remedy, option)


def _wrong_folders(spec: ModelSpec, table: Table, store: StoreDeclaration) -> Iterator[WrongOption]:
    named = {name.lower() for name in table.partition_by}
    for column in spec.columns:
        if (
            store.partition_types
            and column.name.lower() in named
            and str(column.type) not in store.partition_types
        ):
            message = (
                f"a folder's name can't hold all values of '{column.name}', which is of type {column.type}"
            )
            remedy = (
                "partition by a date or a whole number, such as cast(at as date) as day; or set store='delta'"
            )
            yield WrongOption("MS697", message, remedy, "partition_by")


def _without_rest(spec: ModelSpec, table: Table) -> Iterator[WrongOption]:
    names = {name.lower() for name in table.partition_by}
    if names and names >= {column.name.lower() for column in spec.columns}:
        message = "'partition_by' names all columns, so that nothing is left to store in a file"
        yield WrongOption("MS121", message, "select another column, or use cluster_by", "partition_by")
