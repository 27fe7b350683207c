"""Checks sinks with `emit: changes`, whose records have the row before each change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from millstream.compile.models import ModelCompiler
from millstream.core.decoding import from_msgpack
from millstream.core.errors import Diagnostic
from millstream.formats.registry import DEFAULT_FORMAT
from millstream.outputs.kinds import Sink
from millstream.plan.from_sql.catalog import Catalog
from millstream.plan.from_sql.keys import written_keys
from millstream.plan.from_sql.plan import build_plan
from millstream.plan.nodes import Output, TableScan
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import traits_of
from millstream.project.checks import LocationLines
from millstream.stores.registry import choices_with_change_feed, store_declaration

_IN_JSON = "emit='changes' writes JSON as Debezium does"


def problems_of_changes(models: ModelCompiler, catalog: bytes) -> list[Diagnostic]:
    """Return what is wrong with sinks that send changes; the catalog has no other errors."""
    sending = [model for model in models.models.values() if model.config.get("emit") == "changes"]
    if not any(model.stored.changes for model in sending):
        return []
    decoded = from_msgpack(catalog, Catalog)
    plan, _ = build_plan(decoded)
    lines = LocationLines(Path(models.project.root))
    diagnostics: list[Diagnostic] = []
    for output in plan.outputs:
        sink = output.materialization.sink
        if sink is None or not sink.changes:
            continue
        model = models.models[output.model.shown_name]
        for option, message, remedy in _misfits(sink):
            location = models.option_location(model, option, "emit")
            diagnostics.append(lines.diagnostic(location, "MS689", message, remedy))
        if (why := _unknown(output, decoded)) is not None:
            location = models.option_location(model, "emit")
            diagnostics.append(lines.diagnostic(location, "MS688", *why))
    return diagnostics


def _misfits(sink: Sink) -> Iterator[tuple[str, str, str]]:
    """Yield options that contradict the format of changes: the option, the message and the remedy."""
    if sink.encoding.name != DEFAULT_FORMAT:
        yield (
            "format",
            f"{_IN_JSON}, not {sink.encoding.name}",
            f"set format='{DEFAULT_FORMAT}', or remove emit",
        )
    elif sink.value.file:
        yield "schema", f"{_IN_JSON}: its schema is not that of rows", "remove 'schema'"
    elif sink.encoding.framing != "plain":
        yield "framing", f"{_IN_JSON}, without the id of a schema", "remove 'framing'"


def _unknown(output: Output, catalog: Catalog) -> tuple[str, str] | None:
    """Return why the row before a change is unknown, and the remedy; None if it is known."""
    name = output.model.shown_name
    start = f"the rows of '{name}' before a change are unknown"
    order = in_order((output,))
    if not any(isinstance(node, TableScan) and node.changes for node in order):
        appends = traits_of(output.input).mode == "append"
        what = "it sends events, which don't change" if appends else "no table has them"
        key = written_keys(output.keys) if output.keys else "'…'"
        stored = f"config(materialized='table', unique_key={key})"
        return f"{start}: {what}", f"store the rows in a model with {stored}, and select from that"
    for node in order:
        if isinstance(node, TableScan) and node.changes:
            store = store_declaration(catalog.store_of(node.relation))
            if not store.change_feed:
                table = node.relation.last_name
                what = f"'{table}' is stored in {store.title}, which has no change feed"
                return f"{start}: {what}", f"give '{table}' {choices_with_change_feed()}"
        reads = [relation for expression in node.expressions for relation in expression.reads]
        if read := [relation.last_name for relation in reads if relation.kind != "seed"]:
            what = f"it also reads '{read[0]}', which changes on its own"
            return f"{start}: {what}", f"join '{read[0]}' in a table, and select from that table"
        if called := [function for expression in node.expressions for function in expression.functions]:
            what = f"{called[0]}() may have given something else then"
            return f"{start}: {what}", f"call {called[0]}() in the table that it selects from"
        if not node.deterministic:
            what = "its SQL gives other values each time"
            return f"{start}: {what}", "compute such values in the table that it selects from"
    for check in output.checks:
        if check.keeps_out:
            what = f"data test '{check.name}' may have kept it out"
            return f"{start}: {what}", "test the table that it selects from instead"
    return None
