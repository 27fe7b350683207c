"""OpenLineage: an event for each model, one JSON document per line, as its file and HTTP transports expect.

A model is a job whose output has column lineage; columns that decide which rows exist are lineage of the
whole dataset. The events are job events: they describe the project, not a run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

import msgspec

from millstream import __version__
from millstream.compile.manifest import Influence, Manifest, ManifestColumn, ManifestNode
from millstream.docs.site_input import Material
from millstream.project.materialization import Sink

PRODUCER = f"urn:millstream:{__version__}"
_SPEC = "https://openlineage.io/spec"
_FACETS = {
    "columnLineage": "1-2-0/ColumnLineageDatasetFacet", "schema": "1-2-0/SchemaDatasetFacet",
    "documentation": "1-1-0/DocumentationDatasetFacet", "ownership": "1-0-1/OwnershipDatasetFacet",
    "symlinks": "1-0-1/SymlinksDatasetFacet", "sql": "1-1-0/SQLJobFacet", "jobType": "2-0-4/JobTypeJobFacet",
    "jobDocumentation": "1-1-0/DocumentationJobFacet", "jobOwnership": "1-0-1/OwnershipJobFacet",
}  # fmt: skip
_TRANSFORMATIONS = {
    "direct": ("DIRECT", "IDENTITY"), "computed": ("DIRECT", "TRANSFORMATION"),
    "filter": ("INDIRECT", "FILTER"), "join": ("INDIRECT", "JOIN"),
    "group": ("INDIRECT", "GROUP_BY"), "order": ("INDIRECT", "SORT"),
}  # fmt: skip


def openlineage(material: Material) -> str:
    now = datetime.now(tz=timezone.utc).isoformat(timespec="milliseconds")
    nodes = material.manifest.nodes.values()
    events = (_event(material, node, now) for node in nodes if node.kind == "model")
    return "\n".join(msgspec.json.encode(event, enc_hook=str).decode() for event in events)


def _event(material: Material, node: ManifestNode, now: str) -> dict[str, Any]:
    manifest = material.manifest
    inputs = [manifest.nodes[parent] for parent in node.depends_on if parent in manifest.nodes]
    return {
        "eventTime": now,
        "producer": PRODUCER,
        "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/JobEvent",
        "job": {"namespace": _namespace(manifest), "name": node.id, "facets": _of_job(material, node)},
        "inputs": [_dataset(manifest, input_node) for input_node in inputs],
        "outputs": [_dataset(manifest, node, lineage=True)],
    }


def _namespace(manifest: Manifest) -> str:
    return f"millstream://{manifest.project}/{manifest.target}"


def _facet(name: str, **fields: Any) -> dict[str, Any]:
    file = _FACETS[name]
    url = f"{_SPEC}/facets/{file}.json#/$defs/{file.partition('/')[2]}"
    return {"_producer": PRODUCER, "_schemaURL": url, **fields}


def _of_job(material: Material, node: ManifestNode) -> dict[str, Any]:
    facets = {
        "jobType": _facet("jobType", processingType="STREAMING", integration="MILLSTREAM", jobType="MODEL"),
        "sql": _facet("sql", query=material.compiled.get(node.id, ""), dialect="spark"),
    }
    if node.description:
        facets["documentation"] = _facet("jobDocumentation", description=node.description)
    if node.owner:
        facets["ownership"] = _facet("jobOwnership", owners=[{"name": node.owner}])
    return facets


def _dataset(manifest: Manifest, node: ManifestNode, *, lineage: bool = False) -> dict[str, Any]:
    facets: dict[str, Any] = {"schema": _facet("schema", fields=list(map(_field, node.columns)))}
    if node.description:
        facets["documentation"] = _facet("documentation", description=node.description)
    if node.owner:
        facets["ownership"] = _facet("ownership", owners=[{"name": node.owner}])
    if topic := _topic(node):
        # The topic's name, by which other tools know it; the addresses of brokers are omitted.
        identifier = {"namespace": "kafka", "name": topic, "type": "TOPIC"}
        facets["symlinks"] = _facet("symlinks", identifiers=[identifier])
    if lineage:
        facets["columnLineage"] = _lineage(manifest, node)
    return {"namespace": _namespace(manifest), "name": node.id, "facets": facets}


def _field(column: ManifestColumn) -> dict[str, str]:
    description = {"description": column.description} if column.description else {}
    return {"name": column.name, "type": column.type} | description


def _topic(node: ManifestNode) -> str:
    if node.kind == "source":
        return str(node.config.get("topic") or node.name)
    return node.materialization.topic if isinstance(node.materialization, Sink) else ""


def _lineage(manifest: Manifest, node: ManifestNode) -> dict[str, Any]:
    return _facet(
        "columnLineage",
        fields={
            column.name: {"inputFields": _inputs(manifest, column.influences)} for column in node.columns
        },
        dataset=_inputs(manifest, node.influences),
    )


def _inputs(manifest: Manifest, influences: Iterable[Influence]) -> list[dict[str, Any]]:
    """Return each column once, with all of its influences."""
    transformations: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for influence in influences:
        kind, subtype = _TRANSFORMATIONS[influence.kind]
        transformations[influence.relation, influence.column].append({"type": kind, "subtype": subtype})
    return [
        {"namespace": _namespace(manifest), "name": relation, "field": column, "transformations": applied}
        for (relation, column), applied in transformations.items()
    ]
