"""Which rows of which tables a build computes again, or why it can't."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError, UnlocatedDiagnostic
from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.plan.nodes import Maintained, Output, SourceScan, TopicScan
from millstream.plan.nodes.order import in_order
from millstream.plan.range_columns import follows_events, range_column, unrepeatable_steps
from millstream.plan.time_ranges import TimeRange, range_of
from millstream.project.values import Project
from millstream.queries.commands import rebuild_command
from millstream.queries.topology import Topology
from millstream.sources.registry import source_declaration

_AHEAD = timedelta(hours=1)
"""How much later than its record an event can be, since clocks differ."""


class RequestedTimes(Struct, frozen=True):
    """The times from which and until before which rows are computed again."""

    start: datetime
    end: datetime


def ranges_of(
    topology: Topology, project: Project, models: Collection[NodeId] | None, times: RequestedTimes
) -> dict[NodeId, TimeRange]:
    """Return the range of each table that is selected; raise if rows of one can't be computed again."""
    outputs = [
        output
        for output in topology.written.outputs
        if output.materialization.stored_as and (models is None or output.model in models)
    ]
    planned = {output.model: _range_of(output, project, times) for output in outputs}
    refusals = {model: part for model, part in planned.items() if isinstance(part, UnlocatedDiagnostic)}
    if refusals:
        raise MillstreamError(*(_located(project, model, refusal) for model, refusal in refusals.items()))
    return {model: part for model, part in planned.items() if isinstance(part, TimeRange)}


def rebuild_remedy(model: NodeId) -> str:
    return f"compute all of its rows again: `{rebuild_command([model])}`; or {_without(model.shown_name)}"


def _range_of(output: Output, project: Project, times: RequestedTimes) -> TimeRange | UnlocatedDiagnostic:
    name, table = output.model.shown_name, output.materialization.table
    if table is None:
        message = f"'{name}' is not a table, so no range of it can be replaced"
        return UnlocatedDiagnostic("MS640", message, _without(name))
    if isinstance(output.input, Maintained):
        message = f"'{name}' follows the tables that it reads, and has their ranges after the next build"
        return UnlocatedDiagnostic("MS640", message, _without(name))
    if not table.appends:
        message = f"no range of '{name}' can be replaced: a row of its unique_key replaces one of any time"
        return UnlocatedDiagnostic("MS640", message, rebuild_remedy(output.model))
    for message, remedy in _unread(output, project):
        return UnlocatedDiagnostic("MS640", message, remedy)
    column = range_column(output)
    if column is None:
        message = f"'{name}' has no column with the time of its rows"
        remedy = (
            "select the column that has the source's `watermark`, or the start of its window (window.start), "
            "or set partition_by to a date"
        )
        return UnlocatedDiagnostic("MS641", message, remedy)
    for step in unrepeatable_steps(output, column.name):
        message = f"which rows of '{name}' are in a range depends on others: {step.summary}"
        return UnlocatedDiagnostic("MS640", message, rebuild_remedy(output.model))
    zone = ZoneInfo(project.target.settings.get("timezone", "UTC"))
    part = range_of(column, times.start, times.end, zone)
    if part is None:
        days = sorted({time.astimezone(zone).date().isoformat() for time in (times.start, times.end)})
        message = f"'{name}' has rows by day ({column.name}), and these times are not midnight in {zone.key}"
        return UnlocatedDiagnostic("MS641", message, f"write days, such as --from {days[0]}")
    if not follows_events(output, column.name):
        return part
    return replace(part, records_since=int((times.start - _AHEAD).timestamp() * 1000))


def _unread(output: Output, project: Project) -> Iterator[tuple[str, str]]:
    """Yield why sources can't be read again, with what to do."""
    name = output.model.shown_name
    for leaf in in_order((output.input,)):
        match leaf:
            case TopicScan() if (topic := project.topic(leaf.relation)) is not None:
                if topic.options.get("starting") == "latest":
                    message = f"where '{name}' has begun to read {leaf.relation.name} is unknown"
                    yield (
                        message,
                        "set `starting` of the source to 'earliest' or a time, to read it from there",
                    )
            case SourceScan() if leaf.removes_read or not source_declaration(leaf.kind).replayable:
                message = f"'{name}' reads {leaf.relation.name}, which does not have what was read before"
                yield message, _without(name)


def _without(name: str) -> str:
    return f"leave it out: --exclude {name}"


def _located(project: Project, model: NodeId, refusal: UnlocatedDiagnostic) -> Diagnostic:
    file = project.models.get(model.name)
    if file is None:
        return refusal.located_at(None)
    return refusal.located_at(Location(file.path, 1, 1, 2), file.content.partition("\n")[0])
