"""The rows of a model that `run` writes to its log: which, and what of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from millstream.compile.options import only_expression
from millstream.core.errors import Diagnostic, did_you_mean
from millstream.core.expressions import quote_name, sql_literal
from millstream.core.types import BOOLEAN, UNKNOWN
from millstream.outputs.registry import materialization_of
from millstream.plan.nodes import LoggedRows, RowLog
from millstream.project.values import ModelLog, ModelProperties
from millstream.sql.values import Analysis, InputRelation


def logged_rows(
    properties: ModelProperties | None,
    config: Mapping[str, Any],
    relation: InputRelation,
    analyse: Callable[[str, InputRelation], Analysis],
) -> tuple[LoggedRows | None, list[Diagnostic]]:
    """Return which rows of a model are logged, and the errors in its `log`."""
    if properties is None or properties.log is None:
        return None, []
    log = properties.log
    wrong = [*_wrong(log, config, relation)]
    if wrong:
        return None, wrong
    condition = analyse(f"select {log.when or 'true'} as option from this", relation)  # noqa: S608 -- of the project
    location = log.when_location or log.location
    wrong = [
        Diagnostic(diagnostic.code, f"log: {diagnostic.message}", location, diagnostic.help)
        for diagnostic in condition.diagnostics
    ]
    if wrong:
        return None, wrong
    when = only_expression(condition)
    if when is None or when.raises or not when.deterministic or when.reads or when.functions:
        message = (
            "log: its condition can fail on a row, or needs more than the row, and must not stop a query"
        )
        remedy = "use the model's columns, try_cast, try_divide; compute the rest in the model"
        return None, [Diagnostic("MS672", message, location, remedy)]
    if when.type not in {BOOLEAN, UNKNOWN}:
        message = f"log: `when` is not a condition: it is of the type {when.type}"
        return None, [
            Diagnostic("MS672", message, location, "compare it with something, such as `value > 10`")
        ]
    text = only_expression(analyse(_text(log, relation), relation))
    assert text is not None, "a condition and columns that are known"
    return LoggedRows(RowLog(log.level, log.sample, log.per_minute), text), []


def _wrong(log: ModelLog, config: Mapping[str, Any], relation: InputRelation) -> Iterator[Diagnostic]:
    if not materialization_of(relation.id.name, config).stored_as:
        message = f"log: '{relation.id.name}' is a view, whose rows no query stores"
        remedy = "write log: below a sink or a table that reads it"
        yield Diagnostic("MS670", message, log.location, remedy)
        return
    columns = {column.name.lower(): column.name for column in relation.columns}
    for name in log.columns:
        if name.lower() not in columns:
            remedy = did_you_mean(name, list(columns.values()), f"it has {', '.join(columns.values())}")
            message = f"log: '{name}' is not a column of its model"
            yield Diagnostic("MS671", message, log.columns_location or log.location, remedy)


def _text(log: ModelLog, relation: InputRelation) -> str:
    """Return SQL for the text that is logged of a row: NULL if it is not logged."""
    columns = {column.name.lower(): column.name for column in relation.columns}
    names = [columns[name.lower()] for name in log.columns] or list(columns.values())
    fields = ", ".join(f"{sql_literal(name)}, {quote_name(name)}" for name in names)
    shown = f"to_json(named_struct({fields}), map('ignoreNullFields', 'false'))"
    return f"select if({log.when or 'true'}, {shown}, null) as option from this"  # noqa: S608 -- of the project
