"""Keeps a query going whose records are larger than Kafka accepts: dead letters, and what may be left out.

The sink knows the size of a record only when it sends it, and a transaction with one that Kafka refuses can
only be aborted. So the sink (`RecordSizes.java`) compares records with the limits of the producer and of
their topic.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.kafka.clients import Admin
from millstream.kafka.topics import topic_configs
from millstream.queries.checks import count_name
from millstream.queries.values import Query, TooLarge

_COLUMN = "\t"


class RecordSizes(Struct, frozen=True):
    """What happens to records that are too large, as an option of the sink."""

    option: str
    models: dict[str, tuple[NodeId, str]]
    """By topic: the model, and the name of the count of records that are not sent."""

    def options(self) -> dict[str, str]:
        """Return the options of one call of the sink."""
        return sink_options_of(self.option)

    def left_out(self, jvm: Any, options: Mapping[str, str]) -> dict[str, int]:
        """Return what a call has counted: records that were computed, but not sent."""
        counts: dict[str, int] = {}
        for topic, count in jvm.millstream.kafka.RecordSizes.leftOut(options["sizes.call"]).items():
            if count:
                model, name = self.models[topic]
                counts[name] = counts.get(name, 0) + count
                rows = count_name("rows", model)
                counts[rows] = counts.get(rows, 0) - count
        return counts


def sink_options_of(option: str) -> dict[str, str]:
    return {"sizes": option, "sizes.call": uuid.uuid4().hex} if option else {}


def record_sizes(admin: Admin, query: Query) -> RecordSizes | None:
    """Return what happens to a query's records that are too large; None if it always stops."""
    sinks = _sinks(query)
    topics = (*sinks, *query.dead_letter_topics)
    if not topics:
        return None
    settings = topic_configs(admin, topics)
    lines = [_line(topic, settings.get(topic, {}), "cut") for topic in query.dead_letter_topics]
    models: dict[str, tuple[NodeId, str]] = {}
    for topic, (model, how) in sinks.items():
        fate = "dead_letter" if how.dead_letters else "skip"
        models[topic] = (model, count_name("dead_letters" if how.dead_letters else "skipped", model))
        name = model.name
        lines.append(_line(topic, settings.get(topic, {}), fate, how.dead_letters, name))
    return RecordSizes("\n".join(lines), models)


def _sinks(query: Query) -> dict[str, tuple[NodeId, TooLarge]]:
    """Return the topics to which a query need not send all records; several models may write to one."""
    sinks: dict[str, tuple[NodeId, TooLarge]] = {}
    stopping = set[str]()
    for output in query.sinks:
        if output.too_large is None:
            stopping.add(output.topic)
        else:
            sinks[output.topic] = (output.model, output.too_large)
    return {topic: sink for topic, sink in sinks.items() if topic not in stopping}


def _line(topic: str, settings: Mapping[str, str], fate: str, dead_letters: str = "", model: str = "") -> str:
    """Return a line of the option; settings are unknown where the target has no permission to see them."""
    limit, compression = settings.get("max.message.bytes", ""), settings.get("compression.type", "")
    return _COLUMN.join((topic, limit, compression, fate, dead_letters, model))
