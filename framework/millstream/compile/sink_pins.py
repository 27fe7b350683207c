"""Schemas that sinks take from the registry: with `schema='registry'`, the newest version that is pinned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from millstream.core.errors import UnlocatedDiagnostic
from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.formats.format import ReadSchema, SchemaFiles, SchemaLanguage
from millstream.formats.registry import Encoding
from millstream.outputs.kinds import REGISTRY, Sink
from millstream.plan.from_sql.catalog import PlanDiagnostic
from millstream.project.pinned_schemas import PinnedSchema, pinned_schema
from millstream.project.pins import Pins
from millstream.project.values import RegistryUse


class SinkPins(Struct, frozen=True):
    values: ReadSchema | None = None
    keys: ReadSchema | None = None
    options: dict[str, Any] = {}
    """What the sink's configuration takes from them."""
    diagnostics: tuple[PlanDiagnostic, ...] = ()


def sink_pins(sink: Sink, config: Mapping[str, Any], id_: NodeId, pins: Pins) -> SinkPins:
    """Return the pinned schemas of a sink's values and keys, if it takes them from the registry."""
    schemas: dict[str, ReadSchema] = {}
    options: dict[str, Any] = {}
    diagnostics: list[PlanDiagnostic] = []
    for part, written in (("", sink.value), ("key_", sink.written_key)):
        if not (subject := written.pinned_subject):
            continue
        format_ = config.get(f"{part}format") or ""
        use = RegistryUse(
            subject, Location("", 1, 1, 2), None, format_, written.encoding.message, key=bool(part)
        )
        match pinned_schema(use, Encoding(), pins, _read):
            case PinnedSchema(schema, encoding):
                schemas[part] = schema
                options |= {f"{part}format": encoding.name, f"{part}schema_id": encoding.schema_id}
            case UnlocatedDiagnostic(code, text, remedy):
                option = f"{part}format" if code == "MS126" and format_ else f"{part}schema"
                remedy = _REMEDIES.get(code, remedy)
                diagnostics.append(PlanDiagnostic(code, text, remedy, id_, option=option))
    return SinkPins(schemas.get(""), schemas.get("key_"), options, tuple(diagnostics))


def _read(language: SchemaLanguage, files: SchemaFiles) -> ReadSchema:
    return language.read(files)


_REMEDIES = {
    "MS123": f"change the schema, or name a file of the project instead of '{REGISTRY}'",
    "MS126": "omit the format, or name another subject",
}
