"""Resolves names to topics: of sources, of sinks, or of any topic of the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from millstream.compile.manifest import ManifestNode
from millstream.core.errors import Diagnostic, MillstreamError, did_you_mean
from millstream.core.node_id import NodeId
from millstream.kafka.clients import Admin
from millstream.kafka.topic_decoding import TopicDecoding, of_sink, of_source
from millstream.kafka.topics import user_topics
from millstream.project.values import Project


def topic_decodings(project: Project, nodes: Mapping[NodeId, ManifestNode]) -> dict[str, TopicDecoding]:
    """Return how to decode the project's topics, by each of their names; models come before sources."""
    readings: dict[str, TopicDecoding] = {}
    for node in nodes.values():
        if node.sink is not None:
            readings[node.name] = of_sink(node)
    sources = [(source, of_source(source)) for source in project.topics.values()]
    for source, reading in sources:
        readings.setdefault(source.id, reading)
    for source, reading in sources:
        readings.setdefault(source.name, reading)
    for reading in [*readings.values()]:
        for topic in reading.topics:
            readings.setdefault(topic, replace(reading, topics=(topic,)))
    return readings


def readings_of(
    project: Project, nodes: Mapping[NodeId, ManifestNode], admin: Admin, names: Iterable[str]
) -> list[TopicDecoding]:
    """Return how to decode the named topics; raise if a name is not a topic, or the topic does not exist."""
    readings = topic_decodings(project, nodes)
    on_cluster = user_topics(admin)
    sources = {n for source in project.topics.values() for n in (source.id, source.name, *source.topics)}
    named: dict[str, TopicDecoding] = {}
    diagnostics: list[Diagnostic] = []
    for name in names:
        reading = readings.get(name) or (TopicDecoding((name,)) if name in on_cluster else None)
        if reading is None:
            diagnostics.append(_unknown(name, nodes, (*readings, *on_cluster)))
        elif missing := [topic for topic in reading.topics if topic not in on_cluster]:
            owner = "" if name == missing[0] else f" of '{name}'"
            message = f"the topic '{missing[0]}'{owner} does not exist yet"
            how = ", or with `millstream produce`" if name in sources else ""
            remedy = f"create it with `millstream build`{how}"
            diagnostics.append(Diagnostic("MS827", message, None, remedy))
        else:
            named[", ".join(reading.topics)] = reading
    if diagnostics:
        raise MillstreamError(*diagnostics)
    return [*named.values()]


def _unknown(name: str, nodes: Mapping[NodeId, ManifestNode], names: Iterable[str]) -> Diagnostic:
    node = nodes.get(NodeId("model", name)) or nodes.get(NodeId("seed", name))
    if node is not None:
        kind = node.materialization.word if node.materialization else node.kind
        remedy = f"see its rows with `millstream show {name}`"
        return Diagnostic("MS836", f"'{name}' is a {kind}, not a topic", None, remedy)
    remedy = did_you_mean(name, names, "see `millstream ls --resource-type source`")
    return Diagnostic("MS827", f"topic '{name}' does not exist", None, remedy)
