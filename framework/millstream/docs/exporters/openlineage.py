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
from millstream.docs.exporters.project import (
    ExportedColumn,
    ExportedInfluence,
    ExportedNode,
    ExportedProject,
)

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


def openlineage(project: ExportedProject) -> str:
    now = datetime.now(tz=timezone.utc).isoformat(timespec="milliseconds")
    events = (_event(project, model, now) for model in project.models)
    return "\n".join(msgspec.json.encode(event, enc_hook=str).decode() for event in events)


def _event(project: ExportedProject, node: ExportedNode, now: str) -> dict[str, Any]:
    inputs = [project.nodes[parent] for parent in node.depends_on if parent in project.nodes]
    return {
        "eventTime": now,
        "producer": PRODUCER,
        "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/JobEvent",
        "job": {"namespace": _namespace(project), "name": node.id, "facets": _of_job(node)},
        "inputs": [_dataset(project, input_node) for input_node in inputs],
        "outputs": [_dataset(project, node, lineage=True)],
    }


def _namespace(project: ExportedProject) -> str:
    return f"millstream://{project.name}/{project.target}"


def _facet(name: str, **fields: Any) -> dict[str, Any]:
    file = _FACETS[name]
    url = f"{_SPEC}/facets/{file}.json#/$defs/{file.partition('/')[2]}"
    return {"_producer": PRODUCER, "_schemaURL": url, **fields}


def _of_job(node: ExportedNode) -> dict[str, Any]:
    facets = {
        "jobType": _facet("jobType", processingType="STREAMING", integration="MILLSTREAM", jobType="MODEL"),
        "sql": _facet("sql", query=node.sql, dialect="spark"),
    }
    if node.description:
        facets["documentation"] = _facet("jobDocumentation", description=node.description)
    if node.owner:
        facets["ownership"] = _facet("jobOwnership", owners=[{"name": node.owner}])
    return facets


def _dataset(project: ExportedProject, node: ExportedNode, *, lineage: bool = False) -> dict[str, Any]:
    facets: dict[str, Any] = {"schema": _facet("schema", fields=list(map(_field, node.columns)))}
    if node.description:
        facets["documentation"] = _facet("documentation", description=node.description)
    if node.owner:
        facets["ownership"] = _facet("ownership", owners=[{"name": node.owner}])
    if node.topic:
        # The names by which other tools know its topics; the addresses of brokers are omitted.
        identifiers = [{"namespace": "kafka", "name": name, "type": "TOPIC"} for name in node.topic.names]
        facets["symlinks"] = _facet("symlinks", identifiers=identifiers)
    if lineage:
        facets["columnLineage"] = _lineage(project, node)
    return {"namespace": _namespace(project), "name": node.id, "facets": facets}


def _field(column: ExportedColumn) -> dict[str, str]:
    description = {"description": column.description} if column.description else {}
    return {"name": column.name, "type": column.type} | description


def _lineage(project: ExportedProject, node: ExportedNode) -> dict[str, Any]:
    return _facet(
        "columnLineage",
        fields={column.name: {"inputFields": _inputs(project, column.influences)} for column in node.columns},
        dataset=_inputs(project, node.influences),
    )


def _inputs(project: ExportedProject, influences: Iterable[ExportedInfluence]) -> list[dict[str, Any]]:
    """Return each column once, with all of its influences."""
    transformations: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    for influence in influences:
        kind, subtype = _TRANSFORMATIONS[influence.kind]
        transformations[influence.node, influence.column].append({"type": kind, "subtype": subtype})
    return [
        {"namespace": _namespace(project), "name": relation, "field": column, "transformations": applied}
        for (relation, column), applied in transformations.items()
    ]
