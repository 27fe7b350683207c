"""Fills a new registry of this machine with the pinned schemas, under the ids that records have."""

from __future__ import annotations

import hashlib
import io
import json
import urllib.request
from contextlib import suppress
from typing import Any
from urllib.error import HTTPError
from zipfile import ZipFile

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.kafka.registry.local.apicurio import API, DIRECT, VERSION
from millstream.local.server.shared import RunningServer
from millstream.project.pins import PULL, Pins, SchemaVersion

_SECONDS = 30.0
_PRESERVE = {
    "Content-Type": "application/zip",
    "X-Registry-Preserve-ContentId": "true",
    "X-Registry-Preserve-GlobalId": "true",
}
_NOBODY = {"owner": "", "createdOn": 0, "modifiedBy": "", "modifiedOn": 0}


def fill_registry(server: RunningServer, pins: Pins) -> None:
    """Import the pins, unless the registry has schemas: Confluent's API can't choose ids in this registry."""
    if not pins or _subjects(server):
        return
    request = urllib.request.Request(
        f"http://{server.address}/apis/registry/v3/admin/import", _archive(pins), _PRESERVE
    )
    with suppress(HTTPError), DIRECT.open(request, timeout=_SECONDS):
        pass
    # Apicurio only logs what it can't import.
    if missing := sorted(pins.keys() - _subjects(server)):
        message = f"the local schema registry rejects pinned schemas: {', '.join(missing)}"
        remedy = f"see the log in {server.folder}, or run `{PULL}` again to pin what it has"
        raise MillstreamError(Diagnostic("MS894", message, None, remedy))


def _subjects(server: RunningServer) -> frozenset[str]:
    with DIRECT.open(f"http://{server.address}{API}/subjects", timeout=_SECONDS) as answer:
        return frozenset(json.load(answer))


def _archive(pins: Pins) -> bytes:
    """Return the pins in Apicurio's own format of exports."""
    content = io.BytesIO()
    with ZipFile(content, "w") as archive:
        _add(archive, "manifest.Manifest.json", {"exportVersion": "3.0", "systemVersion": VERSION})
        schemas = {version.id: version for subject in pins.values() for version in subject.versions}
        for schema in schemas.values():
            _add_schema(archive, schema)
        number = 0
        for index, (name, subject) in enumerate(pins.items()):
            folder = f"groups/default/artifacts/{index}"
            artifact = {"groupId": None, "artifactId": name}
            kind = subject.versions[-1].type if subject.versions else "AVRO"
            _add(archive, f"{folder}/MetaData.Artifact.json", {**artifact, **_NOBODY, "artifactType": kind})
            for version in subject.versions:
                number += 1
                entry = {
                    **artifact,
                    **_NOBODY,
                    "globalId": number,
                    "version": str(version.version),
                    "versionOrder": version.version,
                    "state": "DISABLED" if version.deleted else "ENABLED",
                    "contentId": version.id,
                }
                _add(archive, f"{folder}/versions/{version.version}.ArtifactVersion.json", entry)
            live = [str(version.version) for version in subject.versions if not version.deleted]
            branch = {**artifact, **_NOBODY, "branchId": "latest", "systemDefined": True, "versions": live}
            _add(archive, f"{folder}/branches/latest.Branch.json", branch)
            rule = {**artifact, "type": "COMPATIBILITY", "configuration": subject.compatibility}
            _add(archive, f"{folder}/rules/COMPATIBILITY.ArtifactRule.json", rule)
    return content.getvalue()


def _add_schema(archive: ZipFile, version: SchemaVersion) -> None:
    references = [
        {
            "groupId": None,
            "artifactId": reference.subject,
            "version": str(reference.version),
            "name": reference.name,
        }
        for reference in version.references
    ]
    serialized = json.dumps(references, separators=(",", ":")) if references else None
    text = version.text.encode()
    # As Apicurio computes it, so that registering the schema again finds this id.
    digest = hashlib.sha256(text + (serialized or "").encode()).hexdigest()
    entry = {
        "contentId": version.id,
        # Without one, Apicurio computes it, but only once it has all that the schema refers to.
        "canonicalHash": digest if references else None,
        "contentHash": digest,
        "artifactType": version.type,
        "contentType": "application/x-protobuf" if version.type == "PROTOBUF" else "application/json",
        "serializedReferences": serialized,
    }
    _add(archive, f"content/{version.id}.Content.json", entry)
    archive.writestr(f"content/{version.id}.Content.data", text)


def _add(archive: ZipFile, name: str, entry: dict[str, Any]) -> None:
    archive.writestr(name, json.dumps(entry))
