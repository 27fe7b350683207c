"""Checks options of a model: those that name its columns, are SQL over them, or bound its state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from millstream.core.errors import did_you_mean
from millstream.core.expressions import Expression, column_expression, join_pieces, replace_columns
from millstream.core.types import BIGINT, DATE, INT, TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN
from millstream.outputs.kinds import (
    EVERY_HEADER,
    KEEP,
    OWN_HEADERS,
    PROCESSING_TIME,
    VALID_FROM,
    VALID_TO,
)
from millstream.outputs.partitions import parse_partition
from millstream.outputs.registry import columns_named, materialization_of
from millstream.plan.from_sql.catalog import ModelSpec, PlanDiagnostic
from millstream.plan.from_sql.record_parts import TIMESTAMP_OPTION
from millstream.plan.nodes import Dedupe, Join, Node, Stateful, TemporalJoin
from millstream.plan.nodes.order import in_order
from millstream.plan.ttl import wrong_time
from millstream.plan.unbounded import StatefulStep, without_end
from millstream.sql.query import Select
from millstream.sql.values import Analysis, InputRelation

_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
_BEFORE = "select "
_IN_TWO = "its rows are versions of the rows that its SQL gives"
_RESERVED = f"rename it: Millstream's own headers start with '{OWN_HEADERS}'"


def unknown_names(config: Mapping[str, Any], relation: InputRelation) -> list[PlanDiagnostic]:
    """Find options that name unknown columns or rules."""
    if relation.open:
        return []
    columns = [c.name for c in relation.columns]
    folded = {name.lower() for name in columns}
    diagnostics: list[PlanDiagnostic] = []
    for option, name in _named(config):
        if name.lower() not in folded:
            fitting = [
                c.name for c in relation.columns if option != "watermark" or c.type in (*_TIMES, UNKNOWN)
            ]
            remedy = did_you_mean(name, fitting, f"name one of its columns: {', '.join(columns[:8])}")
            message = f"'{option}' names '{name}', which is not a column of this model"
            diagnostics.append(PlanDiagnostic("MS519", message, remedy, relation.id, option=option))
    diagnostics += [
        PlanDiagnostic("MS520", f"unknown rule '{name}'", remedy, relation.id, option="optimize")
        for name, remedy in (unknown_rules(config["optimize"]) if config.get("optimize") else ())
    ]
    return diagnostics


def rows_without_time(config: Mapping[str, Any], relation: InputRelation) -> list[PlanDiagnostic]:
    """Find a table with an option that needs the time of a row, but without a time to order by."""
    stored = materialization_of(relation.id.name, config).table
    option = next((name for name in ("retention", "delete_by") if stored and getattr(stored, name)), "")
    if stored is None or not option:
        return []
    name = stored.order_by
    if not name:
        message = f"'{option}' needs 'order_by', the time of a row"
        time = next((c.name for c in relation.columns if c.type in _TIMES), "")
        remedy = f"set order_by='{time}'" if time else "select a timestamp column, and name it in order_by"
    else:
        column = next((c for c in relation.columns if c.name.lower() == name.lower()), None)
        if column is None or column.type in _TIMES:
            return []
        message = f"'{option}' needs a time to order by, and '{name}' is {column.type}"
        converted = (
            f"timestamp_millis({name})" if column.type in {BIGINT, INT} else f"cast({name} as timestamp)"
        )
        remedy = f"select {converted} as {name}_time, and set order_by='{name}_time'"
    return [PlanDiagnostic("MS521", message, remedy, relation.id, option=option)]


def wrong_versions(config: Mapping[str, Any], relation: InputRelation) -> list[PlanDiagnostic]:
    """Find what prevents a table from keeping versions, apart from the rows that it gets."""
    stored = materialization_of(relation.id.name, config).table
    if stored is None or not stored.versions:
        return []
    columns = {c.name.lower(): c for c in relation.columns}
    wrong: list[tuple[str, str, str, str]] = []
    if stored.order_by and (time := columns.get(stored.order_by.lower())) and time.type != TIMESTAMP:
        name = stored.order_by
        message = f"'versions' needs a timestamp to order by, and '{name}' is {time.type}"
        number = time.type in {BIGINT, INT}
        converted = f"timestamp_millis({name})" if number else f"cast({name} as timestamp)"
        remedy = f"select {converted} as {name}_time, and set order_by='{name}_time'"
        wrong.append(("MS681", message, remedy, "order_by"))
    for name in (VALID_FROM, VALID_TO):
        if name in columns and [c.name.lower() for c in relation.columns[-2:]] != [VALID_FROM, VALID_TO]:
            message = f"a table with 'versions' gets a column '{name}', and this model selects another one"
            wrong.append(("MS682", message, f"give its column another name, such as {name}_1", "versions"))
    for name in ("retention", "refresh"):
        if getattr(stored, name):
            message = f"'{name}' has no effect on a table that keeps versions"
            explanation = "'versions' says how long a version is kept" if name == "retention" else _IN_TWO
            wrong.append(("MS683", message, f"remove it: {explanation}", name))
    return [
        PlanDiagnostic(code, why, remedy, relation.id, option=option) for code, why, remedy, option in wrong
    ]


def _named(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for option in ("key", "unique_key", "order_by", "delete_by", "cluster_by"):
        yield from ((option, name) for name in columns_named(config.get(option)))
    partitions = columns_named(config.get("partition_by"))
    yield from (("partition_by", parse_partition(text).column) for text in partitions)
    yield from (("dedupe", name) for name in columns_named((config.get("dedupe") or {}).get("keys")))
    yield from (("watermark", name) for name in columns_named((config.get("watermark") or {}).get("column")))


def unknown_rules(setting: object) -> list[tuple[str, str]]:
    """Return names that are not rules of the optimizer, each with a suggestion."""
    from millstream.plan.optimizer.rule_selection import unknown_rules  # few projects name rules

    return unknown_rules(setting)  # type: ignore[arg-type]  # YAML values have been checked


def option_expressions(
    config: Mapping[str, Any], relation: InputRelation, analyse: Callable[[str, InputRelation], Analysis]
) -> tuple[tuple[tuple[str, Expression], ...], list[PlanDiagnostic]]:
    """Return `delete_when`, `timestamp` and headers as expressions over the model's columns."""
    written: list[tuple[str, str, str]] = []
    if config.get("delete_when"):
        written.append(("delete_when", "delete_when", config["delete_when"]))
    if (time := config.get("timestamp")) and time != PROCESSING_TIME:
        written.append((TIMESTAMP_OPTION, TIMESTAMP_OPTION, time))
    written += [("headers", f"headers.{name}", sql) for name, sql in _own_headers(config).items()]
    expressions: list[tuple[str, Expression]] = []
    diagnostics = _wrong_headers(config, relation)
    for option, name, sql in written:
        analysis = analyse(f"{_BEFORE}{sql} as option from this", relation)
        diagnostics += [
            PlanDiagnostic(
                diagnostic.code,
                f"in '{name}': {diagnostic.message}",
                diagnostic.help,
                relation.id,
                option=option,
            )
            for diagnostic in analysis.diagnostics
        ]
        if (expression := only_expression(analysis)) is not None:
            if option == TIMESTAMP_OPTION:
                diagnostics += check_record_time(relation, sql, expression)
                expression = as_time(expression)
            expressions.append((name, expression))
    return tuple(expressions), diagnostics


def _own_headers(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of a sink that are SQL, by name."""
    headers = config.get("headers") or {}
    return (
        {}
        if isinstance(headers, str)
        else {name: sql for name, sql in headers.items() if name != EVERY_HEADER}
    )


def _wrong_headers(config: Mapping[str, Any], relation: InputRelation) -> list[PlanDiagnostic]:
    headers = config.get("headers") or {}
    diagnostics = [
        PlanDiagnostic("MS557", f"the header '{name}' is reserved", _RESERVED, relation.id, option="headers")
        for name in _own_headers(config)
        if name.startswith(OWN_HEADERS)
    ]
    text = headers if isinstance(headers, str) else headers.get(EVERY_HEADER, KEEP)
    if text != KEEP:
        what = f"the header '{EVERY_HEADER}'" if isinstance(headers, dict) else "'headers'"
        remedy = f"write '{KEEP}', or headers by name: {{kind: upper(kind)}}"
        message = f"{what} can only be '{KEEP}', not '{text}'"
        diagnostics.append(PlanDiagnostic("MS557", message, remedy, relation.id, option="headers"))
    return diagnostics


def check_record_time(relation: InputRelation, sql: str, time: Expression) -> list[PlanDiagnostic]:
    """Find a time of records that is none."""
    if time.type in {*_TIMES, UNKNOWN}:
        return []
    message = f"'timestamp' is the time of a record, and '{sql}' is {time.type}"
    number = time.type in {BIGINT, INT}
    converted = f"timestamp_millis({sql})" if number else f"cast({sql} as timestamp)"
    return [PlanDiagnostic("MS521", message, f"write {converted}", relation.id, option=TIMESTAMP_OPTION)]


def as_time(time: Expression) -> Expression:
    """Return an expression as the time of a record."""
    if time.type == TIMESTAMP:
        return time
    pieces = join_pieces(("cast(", *time.pieces, " as timestamp)"))
    return replace(time, pieces=pieces, type=TIMESTAMP, atomic=True)


def only_expression(analysis: Analysis) -> Expression | None:
    """Return the single item of a SELECT over one relation, with that relation's columns by name."""
    body = analysis.query.body if analysis.query else None
    if analysis.diagnostics or not isinstance(body, Select) or len(body.items) != 1 or body.keys is not None:
        return None
    return replace_columns(body.items[0].expression, lambda ref: column_expression(ref.column, UNKNOWN))


def meaningless_state(
    spec: ModelSpec,
    state: Mapping[str, Any],
    root: Node,
    steps: Sequence[StatefulStep],
    *,
    set_by_model: bool,
) -> list[PlanDiagnostic]:
    """Find options of `state` without effect; folder defaults (not `set_by_model`) may fit only some.

    `steps` are the model's own.
    """
    nodes = in_order((root,))
    keyed = any(isinstance(node, Stateful) for node in nodes)
    as_of = any(isinstance(node, TemporalJoin) for node in nodes)
    exact = any(isinstance(node, Dedupe) and node.exact_by for node in nodes)
    messages: list[tuple[str, str]] = []
    if state.get("retention"):
        remedy = "remove it: a watermark's delay bounds windows, and 'retention' of a table bounds its rows"
        messages.append(("'state: {retention}' has no effect on windows", remedy))
    if state.get("memory") and state.get("store") == "memory":
        messages.append(("'state: {memory}' only limits the store rocksdb", "remove one of them"))
    ttl = state.get("ttl") if set_by_model else None
    endless = list(without_end(spec, steps, ttl)) if ttl else []
    if ttl and not keyed and not endless and not any(isinstance(step.node, Join) for step in steps):
        message = "'state: {ttl}' is for Python functions with keyed state and joins, and this model has none"
        bounds = "a dedupe's 'within', a watermark's delay or a table's 'retention' bounds other state"
        messages.append((message, f"remove it: {bounds}"))
    if set_by_model and state.get("store") == "memory" and (keyed or as_of or exact):
        what = "Python functions" if keyed else "joins FOR SYSTEM_TIME AS OF" if as_of else "exact dedupes"
        messages.append((f"{what} only keep state in RocksDB", "remove store='memory'"))
    diagnostics = (
        [("MS522", *pair) for pair in messages] + ([] if keyed else endless) + [*wrong_time(state, steps)]
    )
    return [
        PlanDiagnostic(code, message, remedy, spec.id, option="state")
        for code, message, remedy in diagnostics
    ]
