"""Metrics with a type: what each row that a model stores adds to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct

from millstream.compile.options import only_expression
from millstream.core.errors import Diagnostic, did_you_mean
from millstream.core.expressions import Expression, quote_name
from millstream.core.types import UNKNOWN
from millstream.outputs.registry import materialization_of
from millstream.plan.nodes import Meter, Metering
from millstream.project.values import Metric
from millstream.sql.call_pieces import call_arguments, pieces_text
from millstream.sql.trees import called_function, is_distinct
from millstream.sql.values import Analysis, InputRelation

TIMER_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""The default of Prometheus' own clients, in seconds."""
RESERVED = ("model", "metric", "le", "quantile")
"""Labels that Prometheus or Millstream sets."""
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_AGGREGATES = ("count", "count_if", "sum", "min", "max", "avg")
_SUMS = ("count", "count_if", "sum")
Fold = Literal["sum", "min", "max", "avg"]


class _Number(Struct, frozen=True):
    """A row's number, and how those of rows are combined."""

    sql: str
    fold: Fold


def compile_metrics(
    metrics: Iterable[Metric],
    config: Mapping[str, Any],
    relation: InputRelation,
    analyse: Callable[[str, InputRelation], Analysis],
) -> tuple[tuple[Metering, ...], list[Diagnostic]]:
    """Return the metrics of a model with a type, and the errors in their SQL."""
    metered: list[Metering] = []
    diagnostics: list[Diagnostic] = []
    for metric in metrics:
        wrong = list(_wrong(metric, config, relation))
        if not wrong:
            number = _number(metric)
            assert number is not None
            analysis = analyse(_text(metric, number), relation)
            wrong = [
                _diagnostic(metric, diagnostic.code, diagnostic.message, diagnostic.help)
                for diagnostic in analysis.diagnostics
            ]
            text = only_expression(analysis)
            if text is not None and (text.raises or not text.deterministic or text.reads or text.functions):
                wrong.append(
                    _diagnostic(
                        metric,
                        "MS547",
                        "its SQL can fail on a row, or needs more than the row, and must not stop a query",
                        "use the model's columns, try_cast, try_divide; compute the rest in the model",
                    )
                )
            elif text is not None:
                metered.append(Metering(_meter(metric, number), text))
        diagnostics += wrong
    return tuple(metered), diagnostics


def _wrong(metric: Metric, config: Mapping[str, Any], relation: InputRelation) -> Iterator[Diagnostic]:
    if not materialization_of(relation.id.name, config).stored_as:
        remedy = "remove type:, or name a sink or a table that reads it"
        yield _diagnostic(metric, "MS547", "its model is a view, whose rows no query stores", remedy)
    columns = {column.name.lower(): column.name for column in relation.columns}
    for name in metric.dimensions:
        if name.lower() not in columns:
            remedy = did_you_mean(name, list(columns.values()), "list columns of the model")
            yield _diagnostic(metric, "MS547", f"dimension '{name}' is not a column of its model", remedy)
        elif not _NAME.fullmatch(name) or name in RESERVED or name.startswith("__"):
            remedy = "rename the column in the model: labels have letters, digits and _"
            yield _diagnostic(metric, "MS547", f"'{name}' can't be a label of Prometheus", remedy)
    if not _NAME.fullmatch(metric.name):
        remedy = "use letters, digits and _"
        yield _diagnostic(
            metric, "MS547", f"'{metric.name}' can't be the name of a metric in Prometheus", remedy
        )
    has_buckets = metric.type in {"histogram", "timer"}
    if metric.buckets and not has_buckets:
        yield _diagnostic(
            metric, "MS547", f"a {metric.type} has no buckets", "remove them, or use type: histogram"
        )
    if metric.type == "histogram" and not metric.buckets:
        yield _diagnostic(metric, "MS547", "a histogram needs buckets", "add buckets, such as [1, 10, 100]")
    if list(metric.buckets) != sorted({*metric.buckets}):
        yield _diagnostic(metric, "MS547", "buckets are not in ascending order", "sort them, each once")
    if _number(metric) is None:
        allowed = ", ".join(f"{name}(…)" for name in (_AGGREGATES if metric.type == "gauge" else _SUMS))
        message = f"the expression of a {metric.type} is one of {allowed}"
        yield _diagnostic(metric, "MS547", message, "write one of them, over a row's columns")


def _number(metric: Metric) -> _Number | None:
    if metric.type in {"histogram", "timer"}:
        return _Number(metric.expression, "sum")
    call = Expression((metric.expression,), UNKNOWN)
    name = called_function(call)
    if not name or is_distinct(call):
        return None
    inner = ", ".join(map(pieces_text, call_arguments(call)))
    if name not in (_AGGREGATES if metric.type == "gauge" else _SUMS):
        return None
    match name:
        case "count":
            star = inner == "*" or re.fullmatch(r"\d+", inner)
            return _Number("1" if star else f"if(({inner}) is null, null, 1)", "sum")
        case "count_if":
            return _Number(f"if({inner}, 1, null)", "sum")
        case "min" | "max" | "avg":
            return _Number(inner, name)
        case _:
            return _Number(inner, "sum")


def _text(metric: Metric, number: _Number) -> str:
    """Return SQL for the text that a row adds: NULL if it has no number."""
    labels = "".join(
        f", chr(0), coalesce(cast({quote_name(name)} as string), '')" for name in metric.dimensions
    )
    text = f"concat(cast(cast({number.sql} as double) as string){labels})"
    if metric.where:
        text = f"if({metric.where}, {text}, null)"
    return f"select {text} as option from this"  # noqa: S608 -- of the project


def _meter(metric: Metric, number: _Number) -> Meter:
    assert metric.type is not None
    buckets = metric.buckets or (TIMER_BUCKETS if metric.type == "timer" else ())
    return Meter(
        metric.name, metric.type, number.fold, metric.dimensions, buckets, metric.most, metric.description
    )


def _diagnostic(metric: Metric, code: str, message: str, remedy: str) -> Diagnostic:
    return Diagnostic(code, f"metric '{metric.name}': {message}", metric.location, remedy)
