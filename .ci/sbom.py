"""Writes the bill of materials: CycloneDX from uv.lock, with the jars that Millstream downloads.

uv run python .ci/sbom.py dist/millstream.cdx.json
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from components import ROOT, Component, jars


def sbom() -> dict[str, Any]:
    """Return the bill of materials, the same for the same commit (SOURCE_DATE_EPOCH)."""
    command = ["uv", "export", "--quiet", "--locked", "--no-dev", "--all-extras", "--format", "cyclonedx1.5"]
    options = ["--preview-features", "sbom-export"]
    exported = subprocess.run([*command, *options], cwd=ROOT, check=True, capture_output=True, text=True)
    bill: dict[str, Any] = json.loads(exported.stdout)
    bill["components"] += [_component(jar) for jar in jars()]
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    bill["metadata"]["timestamp"] = datetime.fromtimestamp(epoch, timezone.utc).isoformat()
    del bill["serialNumber"]
    bill["serialNumber"] = uuid5(NAMESPACE_URL, json.dumps(bill, sort_keys=True)).urn
    return bill


def _component(jar: Component) -> dict[str, Any]:
    group, name = jar.name.split(":")
    purl = f"pkg:maven/{group}/{name}@{jar.version}?type=jar"
    return {
        "type": "library",
        "bom-ref": purl,
        "group": group,
        "name": name,
        "version": jar.version,
        "purl": purl,
        "hashes": [{"alg": "SHA-256", "content": jar.sha256}],
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(sbom(), indent=2) + "\n", encoding="utf-8")
