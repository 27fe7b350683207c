"""A compiled project in an isolated environment: what is built there gets the environment's names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from millstream.compile.manifest import Compiled, ManifestNode
from millstream.core.decoding import from_msgpack
from millstream.core.encoding import to_msgpack
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.outputs.kinds import LONGEST_TOPIC, Sink
from millstream.outputs.registry import Materialization
from millstream.plan.from_sql.catalog import Catalog, ModelSpec, RowSpec, TopicSpec
from millstream.project.names import Environment


def in_environment(compiled: Compiled, environment: Environment) -> Compiled:
    """Return a project whose built models have names of the environment, and the others those of production.

    Raise if one of the names is too long for Kafka.
    """
    nodes = {id_: _node(node, environment) for id_, node in compiled.manifest.nodes.items()}
    if diagnostics := list(_too_long(nodes.values())):
        raise MillstreamError(*diagnostics)
    target = environment.title(compiled.manifest.target)
    manifest = replace(compiled.manifest, nodes=nodes, target=target, environment=environment.name)
    if not compiled.catalog:
        return replace(compiled, manifest=manifest)
    catalog = from_msgpack(compiled.catalog, Catalog)
    catalog = replace(
        catalog,
        topics={id_: _topic(topic, environment) for id_, topic in catalog.topics.items()},
        row_sources={id_: _row_source(source, environment) for id_, source in catalog.row_sources.items()},
        models={id_: _model(spec, environment) for id_, spec in catalog.models.items()},
        environment=environment,
    )
    return replace(compiled, manifest=manifest, catalog=to_msgpack(catalog))


def _topic(topic: TopicSpec, environment: Environment) -> TopicSpec:
    return replace(topic, dead_letters=environment.named(topic.dead_letter_topic))


def _row_source(source: RowSpec, environment: Environment) -> RowSpec:
    return (
        replace(source, dead_letters=environment.named(source.dead_letters))
        if source.dead_letters
        else source
    )


def _model(spec: ModelSpec, environment: Environment) -> ModelSpec:
    names = _names(spec.materialization, spec.name, environment, deferred=environment.defers(spec.id))
    return replace(spec, materialization=replace(spec.materialization, **names)) if names else spec


def _node(node: ManifestNode, environment: Environment) -> ManifestNode:
    stored = node.materialization
    if stored is None:
        return node
    deferred = environment.defers(node.id)
    names = _names(stored, node.name, environment, deferred=deferred)
    return replace(node, config={**node.config, **names}, deferred=deferred)


def _names(stored: Materialization, name: str, environment: Environment, *, deferred: bool) -> dict[str, Any]:
    """Return the names that differ from production's, by option of the materialization."""
    dead_letters = environment.named(stored.dead_letter_topic(name))
    if not stored.stored_as:
        return {}
    names = {"dead_letters": dead_letters}
    if (sink := stored.sink) is None or deferred:
        return names
    return {"topic": environment.named(sink.topic)} | names | _subjects(sink, environment)


def _subjects(sink: Sink, environment: Environment) -> dict[str, Any]:
    """Return the subjects of a sink: its own, unless it only uses what the registry has for production."""
    subjects: dict[str, Any] = {}
    for option, written in (("subject", sink.value), ("key_subject", sink.written_key)):
        if pinned := written.pinned_subject:
            subjects[option] = pinned
        elif subject := written.encoding.subject:
            subjects[option] = environment.named(subject)
    return subjects


def _too_long(nodes: Iterable[ManifestNode]) -> Iterator[Diagnostic]:
    for node in nodes:
        stored = node.materialization
        if stored is None or not stored.stored_as or node.deferred:
            continue
        topic = max(stored.stored_name(node.name), stored.dead_letter_topic(node.name), key=len)
        if len(topic) > LONGEST_TOPIC:
            message = f"the topic name '{topic}' is too long: Kafka allows at most {LONGEST_TOPIC} characters"
            remedy = "use a shorter name for the environment"
            yield Diagnostic("MS555", message, None, remedy)
