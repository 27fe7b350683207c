"""What exporters see of a project."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from millstream.compile.lineage.draw import draw_diagram
from millstream.compile.lineage.find import whole_graph
from millstream.compile.manifest import Compiled, Influence, ManifestColumn, ManifestNode
from millstream.core.decoding import from_msgpack
from millstream.core.types import Array, Decimal, Map, Row, Simple, Type, TypeSyntaxError, parse_type
from millstream.docs.exporters.project import (
    ExportedColumn,
    ExportedInfluence,
    ExportedNode,
    ExportedProject,
    ExportedSchema,
    ExportedTopic,
)
from millstream.docs.texts import compiled_texts
from millstream.formats.changes import AFTER, CREATED, DELETED, READ, UPDATED, envelope_fields
from millstream.formats.registry import DEFAULT_FORMAT, format_of
from millstream.plan.from_sql.catalog import Catalog
from millstream.results.run_metrics import RunMetric, own_metrics
from millstream.results.thresholds import Thresholds

_SIMPLE: dict[str, dict[str, Any]] = {
    "boolean": {"type": "boolean"},
    "string": {"type": "string"},
    "binary": {"type": "string", "contentEncoding": "base64"},
    "tinyint": {"type": "integer", "minimum": -(2**7), "maximum": 2**7 - 1},
    "smallint": {"type": "integer", "minimum": -(2**15), "maximum": 2**15 - 1},
    "int": {"type": "integer", "format": "int32"},
    "bigint": {"type": "integer", "format": "int64"},
    "float": {"type": "number", "format": "float"},
    "double": {"type": "number", "format": "double"},
    "date": {"type": "string", "format": "date"},
    "timestamp": {"type": "string", "format": "date-time"},
    "timestamp_ntz": {"type": "string"},
    "interval": {"type": "string"},
    "void": {"type": "null"},
}

_NO_THRESHOLDS = Thresholds()


def exported_project(compilation: Compiled, thresholds: Thresholds = _NO_THRESHOLDS) -> ExportedProject:
    """Return a project without errors as exporters see it, without paths and secrets."""
    manifest = compilation.manifest
    sql = compiled_texts(compilation)
    return ExportedProject(
        manifest.project,
        manifest.target,
        manifest.millstream_version,
        {str(id_): _node(node, sql.get(id_, "")) for id_, node in manifest.nodes.items()},
        draw_diagram(whole_graph(manifest, tuple(manifest.nodes))),
        _metrics(manifest.project, compilation.catalog),
        thresholds.max_lag,
        thresholds.max_staleness,
    )


def _metrics(project: str, catalog: bytes) -> tuple[RunMetric, ...]:
    models = from_msgpack(catalog, Catalog).models if catalog else {}
    return tuple(
        metric
        for id_, model in models.items()
        for meter in (declared.meter for declared in model.metrics)
        for metric in own_metrics(project, id_.name, meter.name, meter.type, meter.labels, meter.description)
    )


def _node(node: ManifestNode, sql: str) -> ExportedNode:
    return ExportedNode(
        str(node.id),
        node.kind,
        node.name,
        node.description,
        node.owner or "",
        node.tags,
        tuple(map(_column, node.columns)),
        _influences(node.influences),
        tuple(map(str, node.depends_on)),
        sql,
        node.test,
        _topic(node),
    )


def _column(column: ManifestColumn) -> ExportedColumn:
    influences = _influences(column.influences)
    return ExportedColumn(column.name, column.type, column.nullable, column.description, influences)


def _influences(influences: Iterable[Influence]) -> tuple[ExportedInfluence, ...]:
    return tuple(
        ExportedInfluence(str(influence.relation), influence.column, influence.kind)
        for influence in influences
    )


def _topic(node: ManifestNode) -> ExportedTopic | None:
    config, sink = node.config, node.sink
    row = of_columns([column for column in node.columns if not column.name.startswith("_")])
    if "kind" in config:  # a source other than a topic
        return None
    if node.kind == "source":
        topic, key, subjects = str(config.get("topic") or node.name), str(config.get("key") or ""), ("", "")
    elif sink is not None:
        topic, key = sink.topic, sink.key[0] if len(sink.key) == 1 else ""
        subjects = sink.subjects
        row = of_changes(row) if sink.changes else row
    else:
        return None
    key_column = next((column for column in node.columns if column.name == key), None)
    key_format = config.get("key_format")
    partitions, replication = config.get("partitions"), config.get("replication")
    return ExportedTopic(
        topic,
        "receive" if node.kind == "source" else "send",
        ExportedSchema(
            format_of(config.get("format") or DEFAULT_FORMAT).media_type,
            row,
            config.get("schema") or "",
            subjects[0] or config.get("subject") or "",
        ),
        ExportedSchema(
            format_of(key_format).media_type if key_format else "",
            of_text(key_column.type) if key_column else None,
            config.get("key_schema") or "",
            subjects[1] or config.get("key_subject") or "",
        ),
        config.get("framing", "plain") != "plain",
        partitions if isinstance(partitions, int) else None,
        replication if isinstance(replication, int) else None,
        config.get("topic_config") or {},
    )


def of_columns(columns: Sequence[ManifestColumn]) -> dict[str, Any]:
    """Return the schema of a record; only columns that are never NULL are required, since NULL is omitted."""
    properties: dict[str, Any] = {}
    for column in columns:
        description = {"description": column.description} if column.description else {}
        properties[column.name] = of_text(column.type) | description
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    required = [column.name for column in columns if not column.nullable]
    return schema | ({"required": required} if required else {})


def of_changes(row: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a change of such a row, in which NULL is written."""
    properties = {field.name: of_type(field.type) for field in envelope_fields(())}
    fields = {
        name: schema if name in row.get("required", ()) else _or_null(schema)
        for name, schema in row["properties"].items()
    }
    nullable_row = _or_null({"type": "object", "properties": fields, "required": [*fields]})
    either = {"before": nullable_row, AFTER: nullable_row}
    op = {"op": {"type": "string", "enum": [CREATED, UPDATED, DELETED, READ]}}
    return {"type": "object", "properties": properties | either | op, "required": [*properties]}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return schema | {"type": [schema["type"], "null"]} if "type" in schema else schema


def of_text(text: str) -> dict[str, Any]:
    try:
        return of_type(parse_type(text))
    except TypeSyntaxError:
        return {}  # `unknown`: anything


def of_type(type_: Type) -> dict[str, Any]:
    match type_:
        case Simple():
            return dict(_SIMPLE.get(type_.name, {}))
        case Decimal():
            return {"type": "number"}
        case Array():
            return {"type": "array", "items": of_type(type_.element)}
        case Map():
            return {"type": "object", "additionalProperties": of_type(type_.value)}
        case Row():
            return {
                "type": "object",
                "properties": {field.name: of_type(field.type) for field in type_.fields},
            }
