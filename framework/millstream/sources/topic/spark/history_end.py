"""Decides where a query goes from the history of a topic to the topic."""

from __future__ import annotations

from collections.abc import Mapping
from zoneinfo import ZoneInfo

from pyspark.sql import SparkSession

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.kafka.clients import Admin
from millstream.kafka.offsets import OffsetBounds, offsets_since, topic_bounds
from millstream.project.values import History, Project, Topic
from millstream.sources.topic.history import HistoryEnd
from millstream.sources.topic.positions import Offsets
from millstream.sources.topic.spark.history import newest_position, offsets_after
from millstream.stores.tables.seeds import parse_timestamp


def end_of_history(session: SparkSession, project: Project, topic: Topic, admin: Admin) -> HistoryEnd:
    """Return where a topic goes on now, if records are neither missing nor in both parts."""
    history = topic.history
    assert history is not None, f"{topic.id} has no history"
    (name,) = topic.topics
    position = newest_position(project, topic)
    bounds = {number: bound for (_, number), bound in topic_bounds(admin, [name]).items()}
    if history.until:
        zone = ZoneInfo(str(project.target.settings.get("timezone", "UTC")))
        millis = round(parse_timestamp(history.until, zone).timestamp() * 1000)
        offsets = offsets_since(admin, name, millis)
        _check_time(topic, history, bounds, offsets)
        return HistoryEnd(offsets, position, millis)
    after = offsets_after(session, project, topic, position)
    _check_last(topic, history, bounds, after)
    next_offsets = {number: max(after.get(number, 0), history.offsets.get(number, 0)) for number in bounds}
    _check_offsets(topic, history, bounds, next_offsets)
    return HistoryEnd(next_offsets, position)


def _check_last(topic: Topic, history: History, bounds: Mapping[int, OffsetBounds], after: Offsets) -> None:
    """Raise if the history has records that the topic never had."""
    for number, next_offset in sorted(after.items()):
        end = bounds[number].end if number in bounds else 0
        if next_offset > end:
            message = (
                f"the history of the topic '{topic.topics[0]}' has record {next_offset - 1} of partition "
                f"{number}, which the topic never had: its next one is {end}"
            )
            remedy = "name the history of this topic: one that was recreated has other records"
            raise _misfit(message, history, remedy)


def _check_offsets(
    topic: Topic, history: History, bounds: Mapping[int, OffsetBounds], next_offsets: Offsets
) -> None:
    """Raise if the topic no longer has the record after the last one of the history."""
    gaps = {n: bound.first for n, bound in sorted(bounds.items()) if bound.first > next_offsets[n]}
    for number, first in gaps.items():
        next_offset, partition = next_offsets[number], f"partition {number} of the topic '{topic.topics[0]}'"
        message = (
            f"records {next_offset} to {first - 1} of {partition} are missing"
            if first > next_offset + 1
            else f"record {next_offset} of {partition} is missing"
        )
        message += f": its history has those before {next_offset}, and the topic those from {first} on"
        remedy = f"add what is missing to the history. If it needs nothing: {_written(history, gaps)}"
        raise _misfit(message, history, remedy)


def _check_time(topic: Topic, history: History, bounds: Mapping[int, OffsetBounds], since: Offsets) -> None:
    """Raise if the topic may have lost records of the time that is not in its history."""
    # Without an older record, nothing shows that those before the first one are older, too.
    gaps = {
        number: bound.first
        for number, bound in sorted(bounds.items())
        if bound.first > history.offsets.get(number, 0) and since.get(number, bound.first) <= bound.first
    }
    for number, first in gaps.items():
        message = (
            f"partition {number} of the topic '{topic.topics[0]}' has no record from before "
            f"{history.until}, and no longer those before {first}: some of them may be missing"
        )
        remedy = (
            "set `until` to a later time, up to which the history has all records. If it has all of them: "
        )
        raise _misfit(message, history, remedy + _written(history, gaps))


def _written(history: History, offsets: Offsets) -> str:
    """Return what a project writes so that partitions go on at these offsets."""
    written = ", ".join(f"{n}: {offset}" for n, offset in sorted({**history.offsets, **offsets}.items()))
    return f"`offsets: {{{written}}}`"


def _misfit(message: str, history: History, remedy: str) -> MillstreamError:
    return MillstreamError(Diagnostic("MS646", message, history.location, remedy))
