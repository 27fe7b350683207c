"""Sources become nodes: the scan, the decoding, derived columns, the watermark."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.expressions import column
from millstream.plan.build.catalog import ModelSpec, TopicSpec
from millstream.plan.nodes import METADATA, RAW, Decode, Item, Node, Project, TopicScan, Watermark
from millstream.plan.traits import Traits


def topic_node(topic: TopicSpec, metadata: Iterable[str] = METADATA) -> Node:
    """Return a source as its readers see it, metadata columns at the end."""
    node: Node = Decode(
        input=TopicScan(relation=topic.id, topic=topic.topic, columns=RAW, label=f"{topic.name}_records"),
        relation=topic.id,
        format=topic.format,
        fields=topic.fields,
        key=topic.key,
        key_type=topic.key_type,
        metadata=tuple(metadata),
        on_bad_record=topic.on_bad_record,
        unique_by=topic.unique_by,
        label="" if topic.derived or topic.watermark else topic.name,
    )
    if topic.derived:
        derived = dict(topic.derived)
        plain = {c.name: column(c.name, c.type, nullable=c.nullable) for c in node.columns}
        names = [*topic.order, *metadata]
        items = tuple(Item(name, derived.get(name) or plain[name]) for name in names)
        node = Project(input=node, items=items, label="" if topic.watermark else topic.name)
    if topic.watermark:
        time, delay = topic.watermark
        node = Watermark(input=node, time=time, delay=delay, label=topic.name)
    return node


def sink_node(model: ModelSpec, written: Traits) -> Node:
    """Return the topic that a model writes, as another model reads it back; times keep their watermarks."""
    scan = TopicScan(relation=model.id, topic=model.topic, columns=RAW, label=f"{model.name}_records")
    node: Node = Decode(
        input=scan,
        relation=model.id,
        format=model.format,
        fields=model.columns,
        unique_by=model.keys if written.mode == "upsert" else (),
        label="" if written.watermarks else model.name,
    )
    for time, delay in written.watermarks:
        node = Watermark(input=node, time=time, delay=delay, label=model.name)
    return node
