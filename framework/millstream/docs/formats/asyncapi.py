"""AsyncAPI 3: the topics that a project reads and writes, with keys, settings and record schemas.

Servers are omitted, because the addresses of brokers are not public.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from millstream.compile.manifest import Manifest, ManifestColumn, ManifestNode
from millstream.docs.formats.json_schema import of_changes, of_columns, of_text
from millstream.docs.site_input import Material
from millstream.formats.registry import DEFAULT_FORMAT, format_of
from millstream.project.materialization import Sink

VERSION = "3.0.0"
_CLEANUP = ("compact", "delete")


class _Topic(NamedTuple):
    node: ManifestNode
    address: str
    key: str
    action: str
    """`receive`: the project reads it; `send`: it writes it."""

    @property
    def name(self) -> str:
        """Its name in the characters that AsyncAPI allows; others are replaced by their code points."""
        return re.sub(r"[^A-Za-z0-9_\-]", lambda m: "_" if m[0] == "." else f"_{ord(m[0]):x}_", self.node.id)


def asyncapi(material: Material) -> str:
    manifest = material.manifest
    topics = list(_topics(manifest))
    document = {
        "asyncapi": VERSION,
        "info": {
            "title": manifest.project,
            "version": manifest.millstream_version,
            "description": f"Topics that the project {manifest.project} reads and writes.",
        },
        "defaultContentType": format_of().media_type,
        "channels": {topic.name: _channel(topic) for topic in topics},
        "operations": {
            f"{topic.action}_{topic.name}": {
                "action": topic.action,
                "channel": {"$ref": f"#/channels/{topic.name}"},
            }
            for topic in topics
        },
        "components": {
            "messages": {topic.name: _message(topic) for topic in topics},
            "schemas": {topic.name: _payload(topic) for topic in topics},
        },
    }
    return msgspec.json.format(msgspec.json.encode(document, enc_hook=str), indent=2).decode()


def _topics(manifest: Manifest) -> Iterator[_Topic]:
    for node in manifest.nodes.values():
        if node.kind == "source":
            key = str(node.config.get("key") or "")
            yield _Topic(node, str(node.config.get("topic") or node.name), key, "receive")
        elif isinstance(sink := node.materialization, Sink):
            yield _Topic(node, sink.topic, sink.key[0] if len(sink.key) == 1 else "", "send")


def _payload(topic: _Topic) -> dict[str, Any]:
    row, sink = of_columns(_value(topic)), topic.node.materialization
    return of_changes(row) if isinstance(sink, Sink) and sink.changes else row


def _value(topic: _Topic) -> tuple[ManifestColumn, ...]:
    return tuple(column for column in topic.node.columns if not column.name.startswith("_"))


def _channel(topic: _Topic) -> dict[str, Any]:
    node = topic.node
    return {
        "address": topic.address,
        **({"description": node.description} if node.description else {}),
        **({"tags": [{"name": tag} for tag in node.tags]} if node.tags else {}),
        "messages": {topic.name: {"$ref": f"#/components/messages/{topic.name}"}},
        "bindings": {"kafka": _binding(topic)},
    }


def _binding(topic: _Topic) -> dict[str, Any]:
    config = topic.node.config
    binding: dict[str, Any] = {"topic": topic.address}
    for name, option in (("partitions", "partitions"), ("replicas", "replication")):
        if isinstance(config.get(option), int):
            binding[name] = config[option]
    settings = config.get("topic_config") or {}
    configuration: dict[str, Any] = {
        name: int(settings[name])
        for name in ("retention.ms", "retention.bytes", "max.message.bytes")
        if str(settings.get(name)).lstrip("-").isdigit()
    }
    policies = [
        policy for policy in str(settings.get("cleanup.policy") or "").split(",") if policy in _CLEANUP
    ]
    if policies:
        configuration["cleanup.policy"] = policies
    binding |= {"topicConfiguration": configuration} if configuration else {}
    return binding | {"bindingVersion": "0.5.0"}


def _message(topic: _Topic) -> dict[str, Any]:
    node = topic.node
    key = next((column for column in node.columns if column.name == topic.key), None)
    binding = {**({"key": of_text(key.type)} if key else {}), **_id_binding(topic)}
    return {
        "name": node.name,
        "title": node.name.replace("_", " "),
        **({"summary": node.description} if node.description else {}),
        "contentType": format_of(node.config.get("format") or DEFAULT_FORMAT).media_type,
        "payload": {"$ref": f"#/components/schemas/{topic.name}"},
        **({"bindings": {"kafka": {**binding, "bindingVersion": "0.5.0"}}} if binding else {}),
        **_schema(topic),
    }


def _id_binding(topic: _Topic) -> dict[str, Any]:
    """Say that the id of a schema precedes each value."""
    if topic.node.config.get("framing", "plain") == "plain":
        return {}
    return {"schemaIdLocation": "payload", "schemaIdPayloadEncoding": "confluent"}


def _schema(topic: _Topic) -> dict[str, Any]:
    """Return what AsyncAPI has no words for: how keys are encoded, and where schemas are."""
    config, sink = topic.node.config, topic.node.materialization
    subjects = (sink.value_subject, sink.subject_of_key) if isinstance(sink, Sink) else ("", "")
    key_format = config.get("key_format")
    extensions = {
        "x-schema": config.get("schema"),
        "x-schema-subject": subjects[0] or config.get("subject"),
        "x-key-content-type": format_of(key_format).media_type if key_format else "",
        "x-key-schema": config.get("key_schema"),
        "x-key-schema-subject": subjects[1] or config.get("key_subject"),
    }
    return {name: value for name, value in extensions.items() if value}
