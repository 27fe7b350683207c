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
    _check_offsets(topic, history, bounds, after)
    return HistoryEnd({number: after.get(number, 0) for number in bounds}, position)


def _check_offsets(
    topic: Topic, history: History, bounds: Mapping[int, OffsetBounds], after: Offsets
) -> None:
    """Raise if the topic no longer has the record after the last one of the history, or never had that."""
    for number in sorted({*bounds, *after}):
        first, end = bounds.get(number, (0, 0))
        next_offset = after.get(number, 0)
        if first > next_offset:
            missing = (
                f"records {next_offset} to {first - 1}"
                if first > next_offset + 1
                else f"record {next_offset}"
            )
            message = f"{missing} of partition {number} of the topic '{topic.topics[0]}' are missing"
            message += f": its history has those before {next_offset}, and the topic those from {first} on"
            raise _misfit(message, history, "add them to the history")
        if next_offset > end:
            message = (
                f"the history of the topic '{topic.topics[0]}' has record {next_offset - 1} of partition "
                f"{number}, which the topic never had: its next one is {end}"
            )
            remedy = "name the history of this topic: one that was recreated has other records"
            raise _misfit(message, history, remedy)


def _check_time(topic: Topic, history: History, bounds: Mapping[int, OffsetBounds], since: Offsets) -> None:
    """Raise if the topic may have lost records of the time that is not in its history."""
    for number, bound in sorted(bounds.items()):
        # Without an older record, nothing shows that those before the first one are older, too.
        if bound.first > 0 and since.get(number, bound.first) <= bound.first:
            message = (
                f"partition {number} of the topic '{topic.topics[0]}' has no record from before "
                f"{history.until}, and no longer those before {bound.first}: some of them may be missing"
            )
            remedy = "set `until` to a later time, up to which the history has all records"
            raise _misfit(message, history, remedy)


def _misfit(message: str, history: History, remedy: str) -> MillstreamError:
    return MillstreamError(Diagnostic("MS646", message, history.location, remedy))
