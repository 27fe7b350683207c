"""Reports wrong options of Kafka's clients at their locations in YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from yaml.nodes import Node

from millstream.core.errors import Diagnostic, diagnostic_at
from millstream.core.text import Location
from millstream.project.kafka_options import Owner, wrong_options
from millstream.project.schema import ShapeReader
from millstream.project.target_shapes import KafkaShape, TargetShape
from millstream.project.yaml import mapping_entries

_CLIENTS: tuple[Owner, ...] = ("producer", "consumer", "admin")


def check_options(
    reader: ShapeReader, owner: Owner, node: Node, options: Mapping[str, Any]
) -> list[Diagnostic]:
    """Report the wrong options of a mapping, each at its key, and return the diagnostics."""
    before = len(reader.diagnostics)
    written = mapping_entries(node)
    for wrong in wrong_options(owner, options):
        key = written[wrong.option][0] if wrong.option in written else node
        reader.report(key, wrong.code, wrong.message, wrong.help)
    return reader.diagnostics[before:]


def check_clients(reader: ShapeReader, output: Node, shape: TargetShape) -> None:
    """Check the options of a target's clients."""
    kafka = mapping_entries(output).get("kafka")
    if kafka is None or not isinstance(shape.kafka, KafkaShape):
        return
    written = mapping_entries(kafka[1])
    for client in _CLIENTS:
        options = getattr(shape.kafka, client)
        if client in written and isinstance(options, Mapping):
            check_options(reader, client, written[client][1], options)


def check_source(reader: ShapeReader, location: Location, options: Mapping[str, Any]) -> None:
    """Check a source's options, for which only the location of the whole mapping is known."""
    text = reader.text
    for wrong in wrong_options("source", options):
        start = text.offset(location.line, location.column)
        word = re.compile(rf"(?<![\w.]){re.escape(wrong.option)}(?![\w.])").search(text.content, start)
        span = word.span() if word else (start, start + 1)
        reader.diagnostics.append(diagnostic_at(text, *span, wrong.code, wrong.message, wrong.help))
