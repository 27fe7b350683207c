"""AsyncAPI 3: the topics that a project reads and writes, with keys, settings and record schemas.

Servers are omitted, because the addresses of brokers are not public.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from millstream.docs.exporters.project import ExportedNode, ExportedProject, ExportedTopic

VERSION = "3.0.0"
_CLEANUP = ("compact", "delete")
_JSON = "application/json"


def asyncapi(project: ExportedProject) -> str:
    topics = {_name(node): (node, node.topic) for node in project.nodes.values() if node.topic}
    document = {
        "asyncapi": VERSION,
        "info": {
            "title": project.name,
            "version": project.version,
            "description": f"Topics that the project {project.name} reads and writes.",
        },
        "defaultContentType": _JSON,
        "channels": {name: _channel(name, node, topic) for name, (node, topic) in topics.items()},
        "operations": {
            f"{topic.action}_{name}": {"action": topic.action, "channel": {"$ref": f"#/channels/{name}"}}
            for name, (_, topic) in topics.items()
        },
        "components": {
            "messages": {name: _message(name, node, topic) for name, (node, topic) in topics.items()},
            "schemas": {name: topic.value.json_schema for name, (_, topic) in topics.items()},
        },
    }
    return msgspec.json.format(msgspec.json.encode(document, enc_hook=str), indent=2).decode()


def _name(node: ExportedNode) -> str:
    """Return its id in the characters that AsyncAPI allows; others are replaced by their code points."""
    return re.sub(r"[^A-Za-z0-9_\-]", lambda m: "_" if m[0] == "." else f"_{ord(m[0]):x}_", node.id)


def _channel(name: str, node: ExportedNode, topic: ExportedTopic) -> dict[str, Any]:
    return {
        **_address(topic),
        **({"description": node.description} if node.description else {}),
        **({"tags": [{"name": tag} for tag in node.tags]} if node.tags else {}),
        "messages": {name: {"$ref": f"#/components/messages/{name}"}},
        "bindings": {"kafka": _binding(topic)},
    }


def _address(topic: ExportedTopic) -> dict[str, Any]:
    """Return the topic's name, or a parameter that is one of several."""
    match topic.names:
        case (name,):
            return {"address": name}
        case names:
            return {"address": "{topic}", "parameters": {"topic": {"enum": [*names]}}}


def _binding(topic: ExportedTopic) -> dict[str, Any]:
    counts = {"partitions": topic.partitions, "replicas": topic.replication}
    several = len(topic.names) > 1
    binding: dict[str, Any] = ({} if several else {"topic": topic.name}) | {
        name: count for name, count in counts.items() if count is not None
    }
    configuration: dict[str, Any] = {
        name: int(topic.settings[name])
        for name in ("retention.ms", "retention.bytes", "max.message.bytes")
        if str(topic.settings.get(name)).lstrip("-").isdigit()
    }
    policies = str(topic.settings.get("cleanup.policy") or "").split(",")
    if policies := [policy for policy in policies if policy in _CLEANUP]:
        configuration["cleanup.policy"] = policies
    binding |= {"topicConfiguration": configuration} if configuration else {}
    return binding | {"bindingVersion": "0.5.0"}


def _message(name: str, node: ExportedNode, topic: ExportedTopic) -> dict[str, Any]:
    binding: dict[str, Any] = {} if topic.key.json_schema is None else {"key": topic.key.json_schema}
    if topic.schema_ids:
        binding |= {"schemaIdLocation": "payload", "schemaIdPayloadEncoding": "confluent"}
    return {
        "name": node.name,
        "title": node.name.replace("_", " "),
        **({"summary": node.description} if node.description else {}),
        "contentType": topic.value.media_type,
        "payload": {"$ref": f"#/components/schemas/{name}"},
        **({"bindings": {"kafka": {**binding, "bindingVersion": "0.5.0"}}} if binding else {}),
        **_schema(topic),
    }


def _schema(topic: ExportedTopic) -> dict[str, Any]:
    """Return what AsyncAPI has no words for: how keys are encoded, and where schemas are."""
    extensions = {
        "x-schema": topic.value.file,
        "x-schema-subject": topic.value.subject,
        "x-key-content-type": topic.key.media_type,
        "x-key-schema": topic.key.file,
        "x-key-schema-subject": topic.key.subject,
    }
    return {name: value for name, value in extensions.items() if value}
